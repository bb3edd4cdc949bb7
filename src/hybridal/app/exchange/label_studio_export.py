"""Export for Label Studio: a file with all texts and annotations, and predictions for a connected instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Annotation, Class, LabelSet, Person, Prediction, Text, Vote, clean, text_digest
from hybridal.app.exchange.label_studio import Json, LabelConfig, as_text, choice_json, prediction_json
from hybridal.app.exchange.table_files import iso_time
from hybridal.app.labelling.stored_class_sets import answer_of, class_names, named
from hybridal.app.labelling.texts import chunks, in_pages
from hybridal.system.files import strict_json
from hybridal.tasks.answers import Answer

_ROWS_PER_PAGE = 500


def export_tasks(sessions: Sessions, anonymous: bool = False) -> Iterator[bytes]:
    """All texts as one JSON list.

    Label Studio refuses annotations by people it does not know; `anonymous` ones are attributed to the person who
    imports them.
    """
    is_first = True
    yield b"["
    for tasks in in_pages(sessions, partial(_page, anonymous=anonymous), itemgetter("id")):
        yield (("\n" if is_first else ",\n") + ",\n".join(map(strict_json, tasks))).encode()
        is_first = False
    yield b"\n]\n"


def _page(session: Session, last: int, anonymous: bool) -> list[Json]:
    page = select(Text).where(Text.row > last, Text.deleted.is_(None)).order_by(Text.row).limit(_ROWS_PER_PAGE)
    texts = session.scalars(page).all()
    rows, names = [text.row for text in texts], class_names(session)
    votes = session.execute(
        select(Vote.text_row, Annotation, Person, Class.name, LabelSet.classes)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .join(Person, Person.number == Vote.person_number)
        .outerjoin(Class, Class.number == Vote.class_number)
        .outerjoin(LabelSet, LabelSet.number == Vote.label_set)
        .where(Vote.text_row.in_(rows))
        .order_by(Vote.text_row, Annotation.number)
    )
    given = ((row, annotation, person, _answer(one, several, names)) for row, annotation, person, one, several in votes)
    votes_by_row = {row: [*group] for row, group in groupby(given, key=lambda one: one[0])}
    predicted = session.execute(
        select(Prediction, Class.name, LabelSet.classes)
        .join(Class, Class.number == Prediction.class_number)
        .outerjoin(LabelSet, LabelSet.number == Prediction.label_set)
        .where(Prediction.text_row.in_(rows))
    )
    predictions: dict[int, Json] = {}
    for one, name, classes in predicted:
        label = name if classes is None else frozenset(named(classes, names))
        predictions[one.text_row] = prediction_json(label, one.probability, f"round {one.round}", LabelConfig())
    return [_task_json(text, votes_by_row.get(text.row, []), predictions.get(text.row), anonymous) for text in texts]


def _answer(name: str | None, classes: ClassSet | None, names: Mapping[int, str]) -> Answer | None:
    """The label of a vote; None for a skip, or if all that it says is that classes are unknown."""
    if classes is None:
        return name
    return answer_of(classes, names) if classes.decides else None


def _task_json(text: Text, votes: list[Any], prediction: Json | None, anonymous: bool) -> Json:
    people = [one for one in votes if one[2].kind != "llm"]
    machines = [
        {"model_version": person.name.strip("()"), "result": [choice_json(label, LabelConfig(), annotation.comment)]}
        for _, annotation, person, label in votes
        if person.kind == "llm" and label is not None
    ]
    return {
        "id": text.row,
        "data": {**(text.context or {}), "text": text.body, "hybridal_id": text.id},
        "meta": {"split": text.split},
        "annotations": [_annotation_json(text, one, person, label, anonymous) for _, one, person, label in people],
        "predictions": machines + ([prediction] if prediction else []),
    }


def _annotation_json(text: Text, annotation: Annotation, person: Person, label: Answer | None, anonymous: bool) -> Json:
    made: Json = {
        "id": annotation.number,
        "task": text.row,
        "result": [] if label is None else [choice_json(label, LabelConfig(), annotation.comment, annotation.flagged)],
        "was_cancelled": label is None,
        "ground_truth": annotation.decides,
        "created_at": iso_time(annotation.at),
        "updated_at": iso_time(annotation.at),
    }
    return made if anonymous else {**made, "completed_by": {"id": person.number, "email": person.name}}


def model_version(session: Session) -> str:
    """The version of the newest predictions, or "" if there are none."""
    round = session.scalar(select(func.max(Prediction.round)))
    return "" if round is None else f"round {round}"


def predict_tasks(session: Session, tasks: Sequence[Any], config: LabelConfig) -> list[Json]:
    """The stored prediction for each task, found by the content of its text; an empty one if there is none."""
    version = model_version(session)
    bodies = [_body(task, config) for task in tasks]
    predictions: dict[str, Json] = {}
    names = class_names(session)
    wanted = sorted({body for body in bodies if body})
    for part in chunks(wanted):
        rows = session.execute(
            select(Text.body, Class.name, LabelSet.classes, Prediction.probability)
            .join(Prediction, Prediction.text_row == Text.row)
            .join(Class, Class.number == Prediction.class_number)
            .outerjoin(LabelSet, LabelSet.number == Prediction.label_set)
            .where(Text.digest.in_([text_digest(body) for body in part]))
        )
        for body, name, classes, probability in rows:
            label = name if classes is None else frozenset(named(classes, names))
            predictions[body] = prediction_json(label, probability, version, config)
    return [predictions.get(body) or {"model_version": version, "score": 0.0, "result": []} for body in bodies]


def _body(task: Any, config: LabelConfig) -> str:
    data = task.get("data") if isinstance(task, dict) else None
    text = data.get(config.field) if isinstance(data, dict) else None
    return clean(as_text(text)) if isinstance(text, str) else ""
