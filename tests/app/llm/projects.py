"""Small projects for an LLM to work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.annotators.llm.ask_label import LlmResult
from hybridal.annotators.llm.prompt import LlmLabel
from hybridal.app.db.schema import Class, Consensus, Person, Prediction, QueuedText, Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.llm.annotator import LlmSettings, PromptedModel, llm_annotator, save_settings
from hybridal.app.llm.records import record_result
from hybridal.app.project import Project

from ..copies import copied


def made(folder: Path, texts: Sequence[str] | int = 20, db: str | None = None, **plan: Any) -> Project:
    """A project of texts t0, t1, …, all of them in the pool, with the classes bug and idea."""
    bodies = tuple(f"text {at}" for at in range(texts)) if isinstance(texts, int) else tuple(texts)
    place = folder / "demo.hybridal"
    project = copied(_making(bodies), place) if db is None else _made(bodies, db, place)
    project.owner_is_operator = True  # the servers of these tests are on this machine
    with project.sessions.begin() as session:
        save_settings(session, LlmSettings.model_validate({"model": "small", "routing": {"overlap": 0.0}, **plan}))
    return project


@cache
def _making(bodies: tuple[str, ...]) -> Callable[[Path], Project]:
    return partial(_made, bodies, None)


def _made(bodies: tuple[str, ...], db: str | None, folder: Path) -> Project:
    rows = [(f"t{at}", body, None) for at, body in enumerate(bodies)]
    source = Source("demo", rows, ("bug", "idea"))
    return Project.create(source, folder, db=db, validation_first=0, validation_share=0.0)


def llm_of(session: Session, **plan: Any) -> PromptedModel:
    """The LLM annotator of this plan, by default without texts for the evaluation."""
    return llm_annotator(session, LlmSettings.model_validate({"model": "small", "routing": {"overlap": 0.0}, **plan}))


def text(session: Session, id: str) -> Text:
    return session.scalars(select(Text).where(Text.id == id)).one()


def person(session: Session, name: str) -> Person:
    found = session.scalar(select(Person).where(Person.name == name))
    if found is None:
        found = Person(name=name)
        session.add(found)
        session.flush()
    return found


def says(session: Session, who: str, id: str, name: str, **given: Any) -> None:
    """A person labels a text."""
    key = f"{who}|{id}|{name}|{given}"[:64]
    annotate(session, person(session, who), id, "label", class_name=name, key=key, **given)


def recorded(session: Session, llm: PromptedModel, id: str, label: LlmLabel | None, tokens: int = 10) -> str:
    """Record an answer of the LLM; return the route of the text."""
    return record_result(session, llm, text(session, id), LlmResult(label, tokens))


def prediction(session: Session, id: str, name: str, probability: float) -> None:
    """Store a prediction of the trained model."""
    number = session.scalars(select(Class.number).where(Class.name == name)).one()
    row = text(session, id).row
    session.merge(Prediction(text_row=row, class_number=number, probability=probability, entropy=0.5, round=1))
    session.flush()


def consensus(session: Session) -> dict[str, tuple[str, str]]:
    """The class and the source of every text that has a consensus."""
    rows = session.execute(
        select(Text.id, Class.name, Consensus.source)
        .join(Consensus, Consensus.text_row == Text.row)
        .join(Class, Class.number == Consensus.class_number)
    )
    return {id: (name, source) for id, name, source in rows}


def queue(session: Session) -> list[str]:
    """The queue of texts for people, by rank."""
    ranked = select(Text.id).join(QueuedText, QueuedText.text_row == Text.row).order_by(QueuedText.rank, Text.row)
    return [*session.scalars(ranked)]
