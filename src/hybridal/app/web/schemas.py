"""JSON schemas that several routes share, and texts as items of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Prediction, Text, clean
from hybridal.app.labelling.classes import active, current_classes

CleanStr = Annotated[str, AfterValidator(clean)]
# Without a colon, which all keys have that the app draws itself (`file:`, `llm:`, …): nobody can use one up beforehand.
Key = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="Drawn by who asks; counts once.", examples=["5f1c2b"])
]
# Each text of a batch has a key of its own: this one, a full stop and a number.
BatchKey = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_-]{1,56}$", description="Drawn by who asks; counts once.", examples=["7a9d04"])
]
Number = Annotated[int, Field(ge=1, le=2**53)]


class Schema(BaseModel):
    """JSON that says no more than it should. `class` is a word of Python: here it is called `class_`."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True, from_attributes=True)


Entry = TypeVar("Entry")


class Items(Schema, Generic[Entry]):
    """A list, in its order."""

    items: list[Entry]


class Counts(Schema):
    """How many texts there are, and how far the work is."""

    texts: int
    labelled: int
    validation: int
    pool: int
    skipped: int
    flagged: int
    disagreements: int


class Saved(Schema):
    """It is written down for good."""

    ok: bool
    counts: Counts


class PredictionSchema(Schema):
    """What the model thinks, and how sure it is."""

    class_: str = Field(validation_alias="class", serialization_alias="class")
    probability: float
    round: int = Field(description="That of the model; an older one than the newest until that has come to the text.")


class Item(Schema):
    """A text to label."""

    id: str
    text: str
    split: str
    prediction: PredictionSchema | None
    suggestion: str | None = Field(
        description="The class that the text's file gives, where that is not taken for true."
    )
    read_to: int | None = Field(
        default=None, description="How much of the text the model reads, in UTF-16 units; null: all of it."
    )
    context: dict[str, str] = Field(description="What the other columns of the text's file say.")


class ClassSchema(Schema):
    """A class."""

    number: int
    name: str
    description: str
    examples: str = Field(description="Texts that belong there, one a line.")
    position: int
    archived: str = Field(
        "", description="Empty while it can be given; else whether its labels are `kept` or left `out`."
    )


class Done(Schema):
    """It is done."""

    ok: bool = True


Settings = dict[str, Any]

EXCERPT_LENGTH = 500


def excerpt(body: str) -> str:
    """A text that is not too long for a list, or its beginning.

    >>> excerpt("short"), len(excerpt("x" * 1000)), excerpt("x" * 1000)[-3:]
    ('short', 502, 'x …')
    """
    return body if len(body) <= EXCERPT_LENGTH else body[:EXCERPT_LENGTH] + " …"


def predictions_of(session: Session, rows: Sequence[int]) -> dict[int, PredictionSchema]:
    """By the row of the text; none for those that no model has seen."""
    found = session.execute(
        select(Prediction.text_row, Class.name, Prediction.probability, Prediction.round)
        .join(Class, Class.number == Prediction.class_number)
        .where(Prediction.text_row.in_(rows))
    )
    return {row: PredictionSchema(class_=name, probability=sure, round=round) for row, name, sure, round in found}


def items_of(session: Session, texts: Sequence[Text], show_predictions: bool) -> list[Item]:
    """Texts to label, with predictions where people may see them."""
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
    """The names of the classes that files gave, by the row of the text."""
    numbers = {text.row: text.suggestion for text in texts if text.suggestion is not None}
    if not numbers:
        return {}
    now, names = current_classes(session), {one.number: one.name for one in active(session)}
    return {row: names[now[number]] for row, number in numbers.items() if now[number] in names}
