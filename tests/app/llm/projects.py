"""Small projects for an LLM to work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Guess, Person, Queued, Text, Verdict
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.source import Source
from hybridal.app.llm.annotator import Annotator, annotator
from hybridal.app.llm.answers import Said
from hybridal.app.llm.asking import Asked
from hybridal.app.llm.book import record
from hybridal.app.llm.plan import Plan, keep
from hybridal.app.project import Project

from ..copies import copied


def made(folder: Path, texts: Sequence[str] | int = 20, db: str | None = None, **plan: Any) -> Project:
    """A project of texts t0, t1, …, all of them in the pool, with the classes bug and idea."""
    bodies = tuple(f"text {at}" for at in range(texts)) if isinstance(texts, int) else tuple(texts)
    place = folder / "demo.hybridal"
    project = copied(_making(bodies), place) if db is None else _made(bodies, db, place)
    with project.sessions.begin() as session:
        keep(session, Plan.model_validate({"model": "small", "routing": {"overlap": 0.0}, **plan}))
    return project


@cache
def _making(bodies: tuple[str, ...]) -> Callable[[Path], Project]:
    return partial(_made, bodies, None)


def _made(bodies: tuple[str, ...], db: str | None, folder: Path) -> Project:
    rows = [(f"t{at}", body, None) for at, body in enumerate(bodies)]
    source = Source("demo", rows, ("bug", "idea"))
    return Project.create(source, folder, db=db, validation_first=0, validation_share=0.0)


def llm_of(session: Session, **plan: Any) -> Annotator:
    """The LLM of this plan, which puts nothing to the test unless asked."""
    return annotator(session, Plan.model_validate({"model": "small", "routing": {"overlap": 0.0}, **plan}))


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
    answer(session, person(session, who), id, "label", class_name=name, key=key, **given)


def recorded(session: Session, llm: Annotator, id: str, said: Said | None, tokens: int = 10) -> str:
    """The LLM says this of a text; where the text goes."""
    return record(session, llm, text(session, id), Asked(said, tokens))


def guess(session: Session, id: str, name: str, probability: float) -> None:
    """The trained model thinks so."""
    number = session.scalars(select(Class.number).where(Class.name == name)).one()
    row = text(session, id).row
    session.merge(Guess(text_row=row, class_number=number, probability=probability, entropy=0.5, round=1))
    session.flush()


def verdicts(session: Session) -> dict[str, tuple[str, str]]:
    """The class and the source of every text that has a verdict."""
    rows = session.execute(
        select(Text.id, Class.name, Verdict.source)
        .join(Verdict, Verdict.text_row == Text.row)
        .join(Class, Class.number == Verdict.class_number)
    )
    return {id: (name, source) for id, name, source in rows}


def queue(session: Session) -> list[str]:
    """What people are asked for next, by rank."""
    ranked = select(Text.id).join(Queued, Queued.text_row == Text.row).order_by(Queued.rank, Text.row)
    return [*session.scalars(ranked)]
