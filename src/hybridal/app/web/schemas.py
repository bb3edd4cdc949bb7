"""JSON schemas shared by several routes, and the conversion of texts to items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, LabelSet, Prediction, Text, Vote, clean
from hybridal.app.labelling.classes import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    MAX_CLASSES,
    ClassEntry,
    active,
    current_classes,
)
from hybridal.app.labelling.stored_class_sets import class_names, decisions_named, named

CleanStr = Annotated[str, AfterValidator(clean)]
_KEY = "Idempotency key chosen by the client: a repeated request with the same key has no effect."
# No colon: the keys that the app itself generates contain one (`file:`, `llm:`, …), so clients cannot use them up.
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description=_KEY, examples=["5f1c2b"])]
# No dot: each text of a batch gets this key, a dot and a number.
BatchKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,56}$", description=_KEY, examples=["7a9d04"])]
Reason = Literal["unclear", "none_fits", "several_fit", "guidelines", "wrong_text", "other"]
Number = Annotated[int, Field(ge=1, le=2**53)]


class Schema(BaseModel):
    """Base of all schemas: rejects unknown fields. The JSON field `class` is `class_` in Python."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True, from_attributes=True)


def only_several(description: str) -> Any:
    """A field that responses have only in projects with several classes per text."""
    return Field(
        None,
        exclude_if=lambda value: value is None,
        description=f"In projects with several classes per text: {description}",
    )


ClassName = Annotated[CleanStr, Field(max_length=LONGEST_NAME)]
GivenClasses = Annotated[
    list[ClassName] | None,
    Field(max_length=MAX_CLASSES, description="If a text may have several: all its classes; [] is none of them."),
]
GivenDecisions = Annotated[
    dict[ClassName, bool | None] | None,
    Field(
        max_length=MAX_CLASSES,
        description="Instead of `classes`: whether the text has some of the classes; the others stay as they are. null "
        "skips the question.",
    ),
]
ShownClasses = Annotated[list[str] | None, only_several("the classes that the text has; absent while it has no label.")]
ShownDecisions = Annotated[
    dict[str, bool | None] | None,
    only_several("if only some classes are decided: which, by name; null is not known, or disputed."),
]


def shown_set(classes: ClassSet | None, names: Mapping[int, str]) -> dict[str, Any]:
    """The fields `classes` and `decisions` of a set; both are None without one."""
    if classes is None:
        return {"classes": None, "decisions": None}
    return {"classes": named(classes, names), "decisions": decisions_named(classes, names)}


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
    copied: int = Field(description="Those of the pool whose label is only a copy of an answer to a look-alike.")
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
    classes: Annotated[list[str] | None, only_several("all predicted classes; `class` is the likeliest.")] = None
    probabilities: Annotated[
        dict[str, float] | None,
        only_several("those of the predicted classes, and of the class `predicted` of the query."),
    ] = None


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
    look_alikes: int = Field(0, description="To how many texts that are almost the same an answer can be copied.")
    suggestions: Annotated[list[str] | None, only_several("the classes suggested by the file.")] = None
    decisions: Annotated[
        dict[str, bool | None] | None, only_several("the classes that this person has decided so far.")
    ] = None
    questions: Annotated[
        list[str] | None,
        only_several("with `questions`, the classes to ask about, the most valuable first; without them, all at once."),
    ] = None


class ClassSchema(Schema):
    """A class."""

    number: int
    name: str
    description: str
    examples: str = Field(description="Example texts, one per line.")
    key: str = Field("", description="The key that gives it on the page Label; empty for one by its place.")
    keywords: str = Field("", description="Words to highlight in texts, one per line.")
    group: str = Field("", description="The group of classes that it belongs to; empty if to none.")
    position: int
    archived: str = Field(
        "", description="Empty if active; else whether the model still learns its labels (`kept`) or not (`out`)."
    )
    threshold: Annotated[float | None, only_several("the probability from which the newest model gives the class.")] = (
        None
    )


class ListedClass(Schema):
    """A class of a list."""

    name: CleanStr = Field(max_length=LONGEST_NAME, examples=["billing"])
    description: CleanStr = Field("", max_length=LONGEST_DESCRIPTION)
    key: CleanStr = Field("", max_length=10, description="The key that gives it on the page Label.", examples=["b"])


def entry(given: ListedClass) -> ClassEntry:
    """The class of a list as a value of the application."""
    return ClassEntry(given.name, given.description, given.key)


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


Probabilities = Mapping[int, Mapping[int, float]]
"""Probabilities by the row of a text and the number of a class."""


def predictions_of(
    session: Session,
    rows: Sequence[int],
    probabilities: Probabilities = MappingProxyType({}),
    also: str = "",
) -> dict[int, PredictionSchema]:
    """Predictions by the row of the text; texts that no model has scored are missing.

    Args:
        session: A session of the project.
        rows: The rows of the texts.
        probabilities: If a text may have several classes: those of all classes, for the predicted ones.
        also: A class whose probability is shown even if it is not predicted.
    """
    found = session.execute(
        select(Prediction.text_row, Class.name, Prediction.probability, Prediction.round, LabelSet.classes)
        .join(Class, Class.number == Prediction.class_number)
        .outerjoin(LabelSet, LabelSet.number == Prediction.label_set)
        .where(Prediction.text_row.in_(rows))
    ).all()
    names = _offered(session) if any(given is not None for *_, given in found) else {}
    return {
        row: PredictionSchema(
            class_=name,
            probability=sure,
            round=round,
            classes=None if given is None else named(given, names),
            probabilities=None
            if given is None
            else _named_probabilities(given, probabilities.get(row, {}), names, also),
        )
        for row, name, sure, round, given in found
    }


def _named_probabilities(
    given: ClassSet, probabilities: Mapping[int, float], names: Mapping[int, str], also: str
) -> dict[str, float]:
    shown = {n: name for n, name in names.items() if n in given.present or name == also}
    return {name: probabilities[n] for n, name in shown.items() if n in probabilities}


def items_of(
    session: Session,
    texts: Sequence[Text],
    show_predictions: bool,
    decided_by: int | None = None,
    probabilities: Probabilities = MappingProxyType({}),
) -> list[Item]:
    """Texts to label as items.

    Args:
        session: A session of the project.
        texts: The texts.
        show_predictions: Whether the person may see predictions.
        decided_by: If a text may have several classes: the number of the person whose decisions so far are shown.
        probabilities: See `predictions_of`.
    """
    known = predictions_of(session, [text.row for text in texts], probabilities) if show_predictions else {}
    names = _suggestions(session, texts)
    sets = {} if decided_by is None else _sets_of_items(session, texts, decided_by)
    return [
        Item(
            id=text.id,
            text=text.body,
            split=text.split,
            prediction=known.get(text.row),
            suggestion=names.get(text.row),
            context=text.context or {},
            **sets.get(text.row, {}),
        )
        for text in texts
    ]


def _sets_of_items(session: Session, texts: Sequence[Text], person: int) -> dict[int, dict[str, Any]]:
    """The fields of items with sets of classes, by the row of the text."""
    names, offered, rows = class_names(session), _offered(session), [text.row for text in texts]
    suggested = {text.suggested_set for text in texts if text.suggested_set is not None}
    sets = session.execute(select(LabelSet.number, LabelSet.classes).where(LabelSet.number.in_(suggested)))
    now = current_classes(session)
    votes = select(Vote.text_row, LabelSet.classes).join(LabelSet, LabelSet.number == Vote.label_set)
    decided = session.execute(votes.where(Vote.text_row.in_(rows), Vote.person_number == person))
    found: dict[int, dict[str, Any]] = {row: {} for row in rows}
    by_number = {number: classes.renamed(now, frozenset()) for number, classes in sets}
    for text in texts:
        if text.suggested_set is not None:
            found[text.row]["suggestions"] = named(by_number[text.suggested_set], offered)
    for row, classes in decided:
        found[row]["decisions"] = decisions_named(classes, names)
    return found


def _offered(session: Session) -> dict[int, str]:
    """The names of the classes that people can give."""
    return {one.number: one.name for one in active(session)}


def _suggestions(session: Session, texts: Sequence[Text]) -> dict[int, str]:
    """The names of suggested classes by the row of the text."""
    numbers = {text.row: text.suggestion for text in texts if text.suggestion is not None}
    if not numbers:
        return {}
    now, names = current_classes(session), _offered(session)
    return {row: names[now[number]] for row, number in numbers.items() if now[number] in names}
