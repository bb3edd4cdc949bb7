"""Guess which columns of a file are texts, labels and ids; the user confirms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybridal.errors import UserError

# Most reliable names first.
TEXT_NAMES = (
    *("text", "body", "content", "message", "review", "comment", "tweet", "sentence", "document", "utterance"),
    *("question", "description", "abstract", "headline", "title"),
)
LABEL_NAMES = (
    *("label", "class", "category", "target", "kind", "sentiment", "intent", "topic", "tag"),
    *("labels", "classes", "categories", "topics", "tags"),
)
ID_NAMES = ("id", "key", "uid", "uuid", "guid")


@dataclass(frozen=True)
class Columns:
    """Names of the columns; only `text` is required. Several label columns hold 0 or 1 for each class."""

    text: str
    label: str | tuple[str, ...] | None = None
    id: str | None = None


def guess_columns(columns: Mapping[str, Sequence[Any]]) -> Columns:
    """Guess by the names; else texts are the longest column. Ids must be unique.

    >>> guess_columns({"Nr": ["1", "2"], "Review": ["fine", "bad"], "Category": ["a", "a"], "doc_id": ["x", "y"]})
    Columns(text='Review', label='Category', id='doc_id')
    >>> guess_columns({"a": ["1", "2"], "b": ["so much to read", ""], "id": ["same", "same"]})
    Columns(text='b', label=None, id=None)
    """
    names = {name.strip().casefold(): name for name in reversed([*columns])}
    text = _first(names, TEXT_NAMES) or max(columns, key=lambda name: _length(columns[name]))
    label = _first(names, LABEL_NAMES)
    last_part = {plain.replace("-", "_").replace(" ", "_").rpartition("_")[2]: name for plain, name in names.items()}
    id = _first(names, ID_NAMES) or _first(last_part, ID_NAMES)
    return Columns(
        text,
        label if label != text else None,
        id if id not in (None, text, label) and _unique(columns[id]) else None,
    )


def check_different(text: Any, label: Any, id: Any) -> None:
    """Refuse to read labels from the column of the texts or of the ids.

    Raises:
        UserError: If `label` names one of the other two.

    >>> check_different("body", "kind", None)
    """
    if label is not None and label in (text, id):
        holds = "texts" if label == text else "ids"
        raise UserError(f"`label` names the column '{label}', which holds the {holds}; name another.", field="label")


def _first(names: Mapping[str, str], known: Sequence[str]) -> str | None:
    return next((names[name] for name in known if name in names), None)


def _length(values: Sequence[Any]) -> int:
    return sum(len(value) for value in values if isinstance(value, str))


def _unique(values: Sequence[Any]) -> bool:
    written = [str(value) for value in values if value not in (None, "")]
    return len(set(written)) == len(values)
