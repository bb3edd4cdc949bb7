"""Labels as they are written: a class per cell, or several as a list, with a separator, or in indicator columns."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybridal.errors import UserError
from hybridal.tasks.answers import Answer, Decisions, names_of
from hybridal.tasks.label_values import is_missing, label_text

_log = logging.getLogger(__name__)

INDICATORS: Mapping[str, bool] = {"1": True, "true": True, "0": False, "false": False}


def json_list(cell: str) -> frozenset[str] | None:
    """Return the classes of a cell that is a JSON list of names, `[]` being none of them; None if it is not one.

    Example:
        >>> sorted(json_list('["food", "sport"]')), json_list("[]"), json_list("sport")
        (['food', 'sport'], frozenset(), None)
    """
    items = _parsed(cell, "[")
    if not isinstance(items, list) or not all(isinstance(item, str | int | float) and item != "" for item in items):
        return None
    return frozenset(map(label_text, items))


def json_decisions(cell: str) -> Decisions | None:
    """Return the decisions of a cell that is a JSON object of booleans; None if it is not one.

    Example:
        >>> json_decisions('{"food": true, "sport": false}').by_class(), json_decisions("{food}")
        ({'food': True, 'sport': False}, None)
    """
    items = _parsed(cell, "{")
    if not isinstance(items, dict) or not items or not all(isinstance(has, bool) for has in items.values()):
        return None
    return Decisions.of(items)


def _parsed(cell: str, bracket: str) -> Any:
    """Return the JSON value of a cell that begins with this bracket; None if there is none."""
    if not cell.lstrip().startswith(bracket):
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


def write_cell(answer: Answer) -> str:
    """Write a label for a cell of a table: a class as it is, several as a JSON list, decisions on some as an object.

    `read_cell` reads lists and objects back.

    Example:
        >>> write_cell("sport"), write_cell(frozenset(["sport", "food"])), write_cell(frozenset())
        ('sport', '["food", "sport"]', '[]')
        >>> write_cell(Decisions.of({"food": False}))
        '{"food": false}'
    """
    if isinstance(answer, Decisions):
        return json.dumps(answer.by_class(), ensure_ascii=False)
    return answer if isinstance(answer, str) else json.dumps(sorted(answer), ensure_ascii=False)


def read_cell(cell: str, separator: str | None = None) -> frozenset[str] | Decisions:
    """Read the classes in a cell: a JSON list or object, or names with a separator between them, or one name.

    Args:
        cell: Not empty: an empty cell is no label.
        separator: What stands between names.

    Raises:
        UserError: If there are only separators.

    Example:
        >>> sorted(read_cell("food; sport", ";")), sorted(read_cell('["food"]')), sorted(read_cell("food; sport"))
        (['food', 'sport'], ['food'], ['food; sport'])
    """
    if (found := json_list(cell)) is not None:
        return found
    if (decisions := json_decisions(cell)) is not None:
        return decisions
    if separator is None:
        return frozenset([cell])
    names = frozenset(name for part in cell.split(separator) if (name := part.strip()))
    if not names:
        raise UserError(f"'{cell:.40}' names no class; write [] for none of them, or leave it empty for unknown.")
    return names


@dataclass(frozen=True)
class CellReader:
    """Reads the labels of a task from cells.

    Attributes:
        classes: The classes of the task.
        several: Whether a text may have several.
        separator: What stands between them in a cell that is no JSON list.

    Example:
        >>> reader = CellReader(("food", "sport"), several=True)
        >>> sorted(reader.read('["food", "fun"]')), reader.unknown(reader.read('["food", "fun"]'))
        (['food', 'fun'], ['fun'])
    """

    classes: Sequence[str]
    several: bool = False
    separator: str | None = None

    def read(self, cell: str) -> Answer:
        """Read a cell that is not empty."""
        return read_cell(cell, self.separator) if self.several else cell

    def unknown(self, answer: Answer) -> list[str]:
        """Return the names in a label that are not classes of the task."""
        return sorted(set(names_of([answer])) - {*self.classes})


def read_indicators(values: Mapping[str, Any], where: str) -> frozenset[str] | None:
    """Read one row of indicator columns: 1 or true for each class that the text has.

    Args:
        values: The cells by class.
        where: Names the row, for errors.

    Returns:
        The classes; None if every cell is empty, which means that they are unknown.

    Raises:
        UserError: If only some cells are empty, or a cell is neither 0 nor 1.

    Example:
        >>> read_indicators({"food": 1, "sport": 0}, "row 1")
        frozenset({'food'})
    """
    present: dict[str, bool | None] = {name: _indicator(name, value, where) for name, value in values.items()}
    missing = [name for name, value in present.items() if value is None]
    if missing and len(missing) < len(present):
        raise UserError(
            f"{where}, column '{missing[0]}': the cell is empty, others of the row are not; write 0 or 1, or leave "
            "all empty if the labels are unknown."
        )
    return None if missing else frozenset(name for name, value in present.items() if value)


def _indicator(name: str, value: Any, where: str) -> bool | None:
    written = "" if is_missing(value) else label_text(value).strip().lower()
    if written and written not in INDICATORS:
        raise UserError(
            f"{where}, column '{name}': {value!r:.40} is neither 0 nor 1; a column per class holds 1 where a text "
            "has it."
        )
    return INDICATORS[written] if written else None


def has_several(
    labels: Sequence[Answer | None], asked: bool | None, where: str, notify: Callable[[str], None] | None = None
) -> bool:
    """Return whether a text may have several classes: as asked, or if any label is a set, or all are JSON lists.

    What is inferred is told to `notify`, or logged.

    Example:
        >>> has_several(["food", "sport"], None, "mail.csv")
        False
        >>> has_several(['["food", "sport"]', "[]", None], None, "mail.csv", print)
        mail.csv: as its labels are written, a text may have several classes or none.
        True
    """
    if asked is not None:
        return asked
    known = [label for label in labels if label is not None]
    several = any(not isinstance(label, str) for label in known) or (
        bool(known) and all(isinstance(label, str) and _is_written_set(label) for label in known)
    )
    sets = [answer for answer in as_sets(labels) if isinstance(answer, frozenset)] if several else []
    if several and all(len(answer) == 1 for answer in sets):
        (notify or _log.warning)(
            f"{where}: as its labels are written, a text may have several classes or none, although each has one so "
            "far; if every text has exactly one, write labels without lists and name no separator."
        )
    elif several:
        (notify or _log.info)(f"{where}: as its labels are written, a text may have several classes or none.")
    return several


def _is_written_set(cell: str) -> bool:
    return json_list(cell) is not None or json_decisions(cell) is not None


def as_sets(labels: Iterable[Answer | None]) -> list[frozenset[str] | Decisions | None]:
    """Return each label as a set of classes, or as decisions on some; None stays unknown."""
    return [read_cell(label) if isinstance(label, str) else label for label in labels]
