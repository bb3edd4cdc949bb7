"""Tasks for Label Studio: a file of all texts with their annotations, and predictions for a connected instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Annotation, Class, Person, Prediction, Text, Vote, clean, text_digest
from hybridal.app.exchange.label_studio import Json, LabelConfig, as_text, choice_json, prediction_json
from hybridal.app.exchange.table_files import iso_time
from hybridal.app.labelling.texts import chunks, in_pages
from hybridal.system.files import strict_json

_AT_ONCE = 500


def export_tasks(sessions: Sessions, anonymous: bool = False) -> Iterator[bytes]:
    """All texts as one JSON list.

    Label Studio refuses annotations of people it does not know; `anonymous` ones become those of whoever imports them.
    """
    begun = False
    yield b"["
    for tasks in in_pages(sessions, partial(_page, anonymous=anonymous), itemgetter("id")):
        yield ((",\n" if begun else "\n") + ",\n".join(map(strict_json, tasks))).encode()
        begun = True
    yield b"\n]\n"


def _page(session: Session, last: int, anonymous: bool) -> list[Json]:
    some = select(Text).where(Text.row > last, Text.deleted.is_(None)).order_by(Text.row).limit(_AT_ONCE)
    texts = session.scalars(some).all()
    rows = [text.row for text in texts]
    said = session.execute(
        select(Vote.text_row, Annotation, Person, Class.name)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .join(Person, Person.number == Vote.person_number)
        .outerjoin(Class, Class.number == Vote.class_number)
        .where(Vote.text_row.in_(rows))
        .order_by(Vote.text_row, Annotation.number)
    )
    answers = {row: [*group] for row, group in groupby(said, key=lambda one: one[0])}
    thought = session.execute(
        select(Prediction, Class.name)
        .join(Class, Class.number == Prediction.class_number)
        .where(Prediction.text_row.in_(rows))
    )
    predictions = {
        prediction.text_row: prediction_json(name, prediction.probability, f"round {prediction.round}", LabelConfig())
        for prediction, name in thought
    }
    return [_task_json(text, answers.get(text.row, []), predictions.get(text.row), anonymous) for text in texts]


def _task_json(text: Text, said: list[Any], prediction: Json | None, anonymous: bool) -> Json:
    people = [one for one in said if one[2].kind != "llm"]
    machines = [
        {"model_version": person.name.strip("()"), "result": [choice_json(name, LabelConfig(), answer.comment)]}
        for _, answer, person, name in said
        if person.kind == "llm" and name is not None
    ]
    return {
        "id": text.row,
        "data": {**(text.context or {}), "text": text.body, "hybridal_id": text.id},
        "meta": {"split": text.split},
        "annotations": [_annotation_json(text, answer, person, name, anonymous) for _, answer, person, name in people],
        "predictions": machines + ([prediction] if prediction else []),
    }


def _annotation_json(text: Text, answer: Annotation, person: Person, name: str | None, anonymous: bool) -> Json:
    done: Json = {
        "id": answer.number,
        "task": text.row,
        "result": [] if name is None else [choice_json(name, LabelConfig(), answer.comment, answer.flagged)],
        "was_cancelled": name is None,
        "ground_truth": answer.decides,
        "created_at": iso_time(answer.at),
        "updated_at": iso_time(answer.at),
    }
    return done if anonymous else {**done, "completed_by": {"id": person.number, "email": person.name}}


def model_version(session: Session) -> str:
    """The name of the newest model's predictions; empty while there are none."""
    round = session.scalar(select(func.max(Prediction.round)))
    return "" if round is None else f"round {round}"


def predict_tasks(session: Session, tasks: Sequence[Any], config: LabelConfig) -> list[Json]:
    """A prediction for each task, found by its words; an empty one for a text without a prediction."""
    version = model_version(session)
    bodies = [_body(task, config) for task in tasks]
    predictions: dict[str, Json] = {}
    wanted = sorted({body for body in bodies if body})
    for part in chunks(wanted):
        rows = session.execute(
            select(Text.body, Class.name, Prediction.probability)
            .join(Prediction, Prediction.text_row == Text.row)
            .join(Class, Class.number == Prediction.class_number)
            .where(Text.digest.in_([text_digest(body) for body in part]))
        )
        predictions |= {body: prediction_json(name, probability, version, config) for body, name, probability in rows}
    return [predictions.get(body) or {"model_version": version, "score": 0.0, "result": []} for body in bodies]


def _body(task: Any, config: LabelConfig) -> str:
    data = task.get("data") if isinstance(task, dict) else None
    text = data.get(config.field) if isinstance(data, dict) else None
    return clean(as_text(text)) if isinstance(text, str) else ""
