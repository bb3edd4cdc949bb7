"""Shapes of JSON that several routes share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hybridal.app.db.words import clean

Words = Annotated[str, AfterValidator(clean)]
# Without a colon, which all keys have that the app draws itself (`file:`, `llm:`, …): nobody can use one up beforehand.
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="Drawn by who asks; counts once.")]
Number = Annotated[int, Field(ge=1, le=2**53)]


class Shape(BaseModel):
    """JSON that says no more than it should. `class` is a word of Python: here it is called `class_`."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Counts(Shape):
    """How many texts there are, and how far the work is."""

    texts: int
    labelled: int
    validation: int
    pool: int
    skipped: int
    flagged: int
    disagreements: int


class Guessed(Shape):
    """What the model thinks, and how sure it is."""

    class_: str = Field(validation_alias="class", serialization_alias="class")
    probability: float


class Item(Shape):
    """A text to label."""

    id: str
    text: str
    split: str
    guess: Guessed | None


class ClassShape(Shape):
    """A class."""

    number: int
    name: str
    description: str
    position: int


class Done(Shape):
    """It is done."""

    ok: bool = True


Settings = dict[str, Any]
