"""Writes tasks for Label Studio: texts with everybody's answers, and what LLM and model think as predictions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Answer, Class, Guess, Person, Standing, Text
from hybridal.app.exchange.label_studio import Config, Json, choice, prediction
from hybridal.app.exchange.labels import moment
from hybridal.system.files import strict_json

_AT_ONCE = 500


def as_json(sessions: Sessions, anonymous: bool = False) -> Iterator[bytes]:
    """All texts as one JSON list, a page a transaction.

    Label Studio refuses annotations of people it does not know; `anonymous` ones become those of whoever imports them.
    """
    begun, last = False, -1
    yield b"["
    while True:
        with sessions() as session:
            tasks = _page(session, last, anonymous)
        if not tasks:
            break
        last = tasks[-1]["id"]
        yield ((",\n" if begun else "\n") + ",\n".join(map(strict_json, tasks))).encode()
        begun = True
    yield b"\n]\n"


def _page(session: Session, last: int, anonymous: bool) -> list[Json]:
    texts = session.scalars(select(Text).where(Text.row > last).order_by(Text.row).limit(_AT_ONCE)).all()
    rows = [text.row for text in texts]
    said = session.execute(
        select(Standing.text_row, Answer, Person, Class.name)
        .join(Answer, Answer.number == Standing.answer_number)
        .join(Person, Person.number == Standing.person_number)
        .outerjoin(Class, Class.number == Standing.class_number)
        .where(Standing.text_row.in_(rows))
        .order_by(Standing.text_row, Answer.number)
    )
    answers = {row: [*group] for row, group in groupby(said, key=lambda one: one[0])}
    thought = session.execute(
        select(Guess, Class.name).join(Class, Class.number == Guess.class_number).where(Guess.text_row.in_(rows))
    )
    guesses = {
        guess.text_row: prediction(name, guess.probability, f"round {guess.round}", Config()) for guess, name in thought
    }
    return [_task(text, answers.get(text.row, []), guesses.get(text.row), anonymous) for text in texts]


def _task(text: Text, said: list[Any], guess: Json | None, anonymous: bool) -> Json:
    people = [one for one in said if one[2].kind != "llm"]
    machines = [
        {"model_version": person.name.strip("()"), "result": [choice(name, Config(), answer.comment)]}
        for _, answer, person, name in said
        if person.kind == "llm" and name is not None
    ]
    return {
        "id": text.row,
        "data": {"text": text.body, "hybridal_id": text.id},
        "meta": {"split": text.split},
        "annotations": [_annotation(text, answer, person, name, anonymous) for _, answer, person, name in people],
        "predictions": machines + ([guess] if guess else []),
    }


def _annotation(text: Text, answer: Answer, person: Person, name: str | None, anonymous: bool) -> Json:
    done: Json = {
        "id": answer.number,
        "task": text.row,
        "result": [] if name is None else [choice(name, Config(), answer.comment, answer.flagged)],
        "was_cancelled": name is None,
        "ground_truth": answer.decides,
        "created_at": moment(answer.at),
        "updated_at": moment(answer.at),
    }
    return done if anonymous else {**done, "completed_by": {"id": person.number, "email": person.name}}
