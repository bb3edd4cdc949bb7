"""What the model thinks of tasks that a connected Label Studio shows: out of the stored guesses, so at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Guess, Text
from hybridal.app.db.words import clean, digest
from hybridal.app.exchange.label_studio import Config, Json, prediction, words

_AT_ONCE = 500


def model_version(session: Session) -> str:
    """The name of the newest model's guesses; empty while there are none."""
    round = session.scalar(select(func.max(Guess.round)))
    return "" if round is None else f"round {round}"


def predict(session: Session, tasks: Sequence[Any], config: Config) -> list[Json]:
    """A prediction for each task, found by its words; an empty one for a text without a guess."""
    version = model_version(session)
    bodies = [_body(task, config) for task in tasks]
    guesses: dict[str, Json] = {}
    wanted = sorted({body for body in bodies if body})
    for start in range(0, len(wanted), _AT_ONCE):
        rows = session.execute(
            select(Text.body, Class.name, Guess.probability)
            .join(Guess, Guess.text_row == Text.row)
            .join(Class, Class.number == Guess.class_number)
            .where(Text.digest.in_([digest(body) for body in wanted[start : start + _AT_ONCE]]))
        )
        guesses |= {body: prediction(name, probability, version, config) for body, name, probability in rows}
    return [guesses.get(body) or {"model_version": version, "score": 0.0, "result": []} for body in bodies]


def _body(task: Any, config: Config) -> str:
    data = task.get("data") if isinstance(task, dict) else None
    text = data.get(config.field) if isinstance(data, dict) else None
    return clean(words(text)) if isinstance(text, str) else ""
