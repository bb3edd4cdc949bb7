"""Is the LLM as good as a person? The texts that both labelled, chosen by chance, put to the test."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, LlmAnswer, Person, Standing, Text
from hybridal.app.insight.alt_test import alt_test
from hybridal.app.insight.kappa import kappa
from hybridal.app.llm.annotator import Annotator
from hybridal.app.llm.book import is_shared


def trial(session: Session, llm: Annotator, epsilon: float = 0.2) -> dict[str, Any]:
    """The alternative-annotator test where there are people enough, and Cohen's κ with each of them in any case."""
    said = said_by_llm(session, llm)
    people = said_by_people(session, set(said))
    kappas = []
    for person, classes in people.items():
        texts = sorted(classes)
        found = kappa([said[text] for text in texts], [classes[text] for text in texts])
        kappas.append({"person": person, **asdict(found)})
    return {**asdict(alt_test(said, people, epsilon)), "kappas": kappas}


def said_by_llm(session: Session, llm: Annotator) -> dict[str, str]:
    """The LLM's classes of the texts that went to people whatever it said: of the others, people see the hard ones."""
    kept = session.execute(
        select(Text, LlmAnswer.class_name)
        .join(LlmAnswer, LlmAnswer.text_row == Text.row)
        .where(LlmAnswer.model == llm.name, LlmAnswer.class_name.is_not(None))
    )
    return {text.id: name for text, name in kept if name is not None and is_shared(llm, text)}


def said_by_people(session: Session, texts: set[str]) -> dict[str, dict[str, str]]:
    """Each person's classes of these texts; who decides between others has seen their answers, and does not count."""
    rows = session.execute(
        select(Person.name, Text.id, Class.name)
        .join(Standing, Standing.person_number == Person.number)
        .join(Text, Text.row == Standing.text_row)
        .join(Class, Class.number == Standing.class_number)
        .where(Person.kind == "person", ~Standing.decides)
        .order_by(Person.number, Text.row)
    )
    people: dict[str, dict[str, str]] = {}
    for person, text, name in rows:
        if text in texts:
            people.setdefault(person, {})[text] = name
    return people
