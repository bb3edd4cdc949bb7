"""JSON schemas shared by several routes, and the conversion of texts to items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Prediction, Text, clean
from hybridal.app.labelling.classes import active, current_classes

CleanStr = Annotated[str, AfterValidator(clean)]
_KEY = "Idempotency key chosen by the client: a repeated request with the same key has no effect."
# No colon: the keys that the app itself generates contain one (`file:`, `llm:`, …), so clients cannot use them up.
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description=_KEY, examples=["5f1c2b"])]
# No dot: each text of a batch gets this key, a dot and a number.
BatchKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,56}$", description=_KEY, examples=["7a9d04"])]
Number = Annotated[int, Field(ge=1, le=2**53)]


class Schema(BaseModel):
    """Base of all schemas: rejects unknown fields. The JSON field `class` is `class_` in Python."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True, from_attributes=True)


Entry = TypeVar("Entry")


class Items(Schema, Generic[Entry]):
    """A list."""

    items: list[Entry]


class Counts(Schema):
    """Numbers of texts by their state."""

    texts: int
    labelled: int
    validation: int
    pool: int
    skipped: int
    flagged: int
    disagreements: int


class Saved(Schema):
    """The change is stored durably."""

    ok: bool
    counts: Counts


class PredictionSchema(Schema):
    """The predicted class and its probability."""

    class_: str = Field(validation_alias="class", serialization_alias="class")
    probability: float
    round: int = Field(
        description="The round of the model that made the prediction; scoring with the newest takes time."
    )


class Item(Schema):
    """A text to label."""

    id: str
    text: str
    split: str
    prediction: PredictionSchema | None
    suggestion: str | None = Field(
        description="The class suggested by the file, if its labels were uploaded as suggestions."
    )
    read_to: int | None = Field(
        default=None, description="How much of the text the model reads, in UTF-16 code units; null: all of it."
    )
    context: dict[str, str] = Field(description="The other columns of the text's row in its file.")


class ClassSchema(Schema):
    """A class."""

    number: int
    name: str
    description: str
    examples: str = Field(description="Example texts, one per line.")
    position: int
    archived: str = Field(
        "", description="Empty if active; else whether the model still learns its labels (`kept`) or not (`out`)."
    )


class Done(Schema):
    """The request succeeded."""

    ok: bool = True


Settings = dict[str, Any]

EXCERPT_LENGTH = 500


def excerpt(body: str) -> str:
    """A text, or its beginning if it is too long for a list.

    >>> excerpt("short"), len(excerpt("x" * 1000)), excerpt("x" * 1000)[-3:]
    ('short', 502, 'x …')
    """
    return body if len(body) <= EXCERPT_LENGTH else body[:EXCERPT_LENGTH] + " …"


def predictions_of(session: Session, rows: Sequence[int]) -> dict[int, PredictionSchema]:
    """Predictions by the row of the text; texts that no model has scored are missing."""
    found = session.execute(
        select(Prediction.text_row, Class.name, Prediction.probability, Prediction.round)
        .join(Class, Class.number == Prediction.class_number)
        .where(Prediction.text_row.in_(rows))
    )
    return {row: PredictionSchema(class_=name, probability=sure, round=round) for row, name, sure, round in found}


def items_of(session: Session, texts: Sequence[Text], show_predictions: bool) -> list[Item]:
    """Texts to label as items, with predictions if the person may see them."""
    known = predictions_of(session, [text.row for text in texts]) if show_predictions else {}
    names = _suggestions(session, texts)
    return [
        Item(
            id=text.id,
            text=text.body,
            split=text.split,
            prediction=known.get(text.row),
            suggestion=names.get(text.row),
            context=text.context or {},
        )
        for text in texts
    ]


def _suggestions(session: Session, texts: Sequence[Text]) -> dict[int, str]:
    """The names of suggested classes by the row of the text."""
    numbers = {text.row: text.suggestion for text in texts if text.suggestion is not None}
    if not numbers:
        return {}
    now, names = current_classes(session), {one.number: one.name for one in active(session)}
    return {row: names[now[number]] for row, number in numbers.items() if now[number] in names}
