"""Divide texts by a column: by its values, by periods of a date, or along a number."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError
from hybridal.measures.shares.labelled_texts import Flags

PERIODS = ("year", "quarter", "month", "week", "day")
NUMBER = "number"
MAX_GROUPS, MAX_NUMBERS = 120, 24  # ten years of months; different numbers
_DATES = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})(?:[-/.](?P<d>\d{1,2}))?(?:[T ].*)?"),
    re.compile(r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})"),
    re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?:[T ].*)?"),
)


@dataclass(frozen=True)
class By:
    """A column, and how texts are divided by it.

    Attributes:
        column: Its name.
        unit: A period such as "month", "number" for a regression on it, "" for its values.

    Example:
        >>> By.of("month:sent"), By.of("branch").unit, str(By.of("number:price"))
        (By(column='sent', unit='month'), '', 'number:price')
    """

    column: str
    unit: str = ""

    @classmethod
    def of(cls, spec: str) -> By:
        """Read `COLUMN`, `month:COLUMN` (or another period) or `number:COLUMN`."""
        unit, colon, column = spec.partition(":")
        return cls(column, unit) if colon and unit in (*PERIODS, NUMBER) and column else cls(spec)

    def __str__(self) -> str:
        return f"{self.unit}:{self.column}" if self.unit else self.column


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of texts.

    Attributes:
        by: The column.
        names: The names of the groups; empty for a regression on a number.
        of: The number of each text's group, -1 without one, (N,).
        along: The number of each text, NaN without one: that of its period, or of the column; None for other groups.

    Example:
        >>> groups = group_by(["2024-01-30", "2024-03-01", "", "2024-03-09"], By("sent", "month"))
        >>> groups.names, groups.of.tolist(), groups.along.tolist()
        (('2024-01', '2024-03'), [0, 1, -1, 1], [0.0, 2.0, nan, 2.0])
    """

    by: By
    names: tuple[str, ...]
    of: Ints
    along: Floats | None = None

    def rows(self, group: int) -> Flags:
        """Return whether each text belongs to a group."""
        found: Flags = self.of == group
        return found

    @property
    def without(self) -> int:
        """How many texts have no value in the column."""
        return int((self.of < 0).sum()) if self.along is None else int(np.isnan(self.along).sum())


def group_by(values: Sequence[Any], by: By) -> Groups:
    """Divide texts by the values of a column; None, NaN and "" are no value.

    Args:
        values: The value of each text.
        by: The column and how to divide by it.

    Returns:
        The groups: values in their order, periods in that of time.

    Raises:
        UserError: If the values are no dates or numbers, or have fewer than two groups or too many.
    """
    known = [None if _is_missing(value) else value for value in values]
    if all(value is None for value in known):
        raise UserError(f"The column '{by.column}' is empty; name another one.", field="by")
    if by.unit == NUMBER:
        along = np.array([_number(value, by.column) for value in known])
        if np.nanmin(along) == np.nanmax(along):
            raise UserError(f"The column '{by.column}' has one value only; there is no trend along it.", field="by")
        return Groups(by, (), np.full(len(known), -1, dtype=np.int64), along)
    periods: Floats | None = None
    if by.unit in PERIODS:
        days = [None if value is None else _date(value, by) for value in known]
        found = {period_number(day, by.unit): period_name(day, by.unit) for day in days if day is not None}
        numbers = [None if day is None else period_number(day, by.unit) for day in days]
        ordered = sorted(found)
        names = tuple(found[number] for number in ordered)
        place = {number: at for at, number in enumerate(ordered)}
        of = [-1 if number is None else place[number] for number in numbers]
        periods = np.array([math.nan if number is None else float(number - ordered[0]) for number in numbers])
    else:
        written = [None if value is None else _written(value) for value in known]
        names = tuple(sorted({value for value in written if value is not None}, key=_natural))
        place_of = {name: at for at, name in enumerate(names)}
        of = [-1 if value is None else place_of[value] for value in written]
    if len(names) < 2:
        raise UserError(f"All texts with a value in '{by.column}' are in one group, {names[0]:.40}.", field="by")
    numeric = not by.unit and all(math.isfinite(_natural(name)[0]) for name in names)
    if len(names) > (MAX_NUMBERS if numeric else MAX_GROUPS):
        hint = f"; for a trend along a number use number:{by.column}, along dates month:{by.column}"
        raise UserError(
            f"The column '{by.column}' divides the texts into {len(names):,} groups, which are too many"
            f"{hint if not by.unit else '; take longer periods'}.",
            field="by",
        )
    return Groups(by, names, np.array(of, dtype=np.int64), periods)


def period_number(day: date, unit: str) -> int:
    """Number periods so that neighbouring ones differ by 1.

    >>> period_number(date(2024, 3, 1), "month") - period_number(date(2023, 12, 31), "month")
    3
    """
    return {
        "year": day.year,
        "quarter": day.year * 4 + (day.month - 1) // 3,
        "month": day.year * 12 + day.month - 1,
        "week": (day.toordinal() - 1) // 7,
        "day": day.toordinal(),
    }[unit]


def period_name(day: date, unit: str) -> str:
    """Name a period so that names sort like dates.

    >>> [period_name(date(2024, 12, 30), unit) for unit in PERIODS]
    ['2024', '2024-Q4', '2024-12', '2025-W01', '2024-12-30']
    """
    week = day.isocalendar()
    return {
        "year": f"{day.year:04}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "month": f"{day.year:04}-{day.month:02}",
        "week": f"{week.year:04}-W{week.week:02}",
        "day": day.isoformat(),
    }[unit]


def _is_missing(value: Any) -> bool:
    blank = isinstance(value, str) and not value.strip()
    return value is None or blank or value != value  # NaN and NaT are unequal to themselves


def _written(value: Any) -> str:
    """Write a value as a name: 3 and 3.0 alike, truth values as in files."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _natural(name: str) -> tuple[float, str]:
    """Order numbers as numbers, before words."""
    try:
        number = float(name)
    except ValueError:
        return math.inf, name
    return (number if math.isfinite(number) else math.inf), name


def _number(value: Any, column: str) -> float:
    try:
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise UserError(
            f"'{value!s:.40}' in the column '{column}' is no number; use the column without `number:`.", field="by"
        )
    return number


def _date(value: Any, by: By) -> date:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    written = str(value).strip()
    for pattern in _DATES:
        if found := pattern.fullmatch(written):
            parts = found.groupdict()
            try:
                if parts["d"] is None and by.unit in ("week", "day"):
                    break
                return date(int(parts["y"]), int(parts["m"]), int(parts["d"] or 1))
            except ValueError:
                break
    raise UserError(
        f"'{written:.40}' in the column '{by.column}' is no date; write dates as 2024-03-31, or use the column without "
        f"`{by.unit}:`.",
        field="by",
    )
