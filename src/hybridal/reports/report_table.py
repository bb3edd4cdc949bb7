"""A table as data: displayed text, exact numbers, and highlighting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from hybridal.reports.number_formats import NONE, Shown, percent, with_spread

Value = float | int | None
MEAN = ("mean", "std", "n")
ONE = ("value",)


@dataclass(frozen=True)
class Entry:
    """One cell: its text, and the numbers that it was shortened from, one for each part of its column.

    `marks` are signs such as `*` that the caption explains, `best` the best of its column, `chosen` what a rule chose,
    `stable` a change below ε, and `shade` says how good it is among its column, from 0 to 1. On a page, `hint` is read
    when the cell is pointed at, and `token` names the colour of a dot before it.
    """

    text: str
    numbers: tuple[Value, ...] = ()
    marks: str = ""
    best: bool = False
    chosen: bool = False
    shade: float | None = None
    stable: bool = False
    hint: str = ""
    token: str = ""

    @property
    def value(self) -> Value:
        """The main number."""
        return self.numbers[0] if self.numbers else None

    @property
    def mark(self) -> str:
        """The CSS class of the highlighting."""
        return "best" if self.best or self.chosen else "stable" if self.stable else ""


MISSING = Entry(NONE)
Row = tuple[Entry, ...]


@dataclass(frozen=True)
class Column:
    """What a column holds. `parts` names the numbers of its cells; a column without parts holds words."""

    title: str
    parts: tuple[str, ...] = ()
    group: str = ""
    hint: str = ""

    @property
    def name(self) -> str:
        return f"{self.group} {self.title}".strip()

    def fields(self) -> list[str]:
        """The names under which a file of exact values holds this column, such as `F1 IMDb mean` and `F1 IMDb std`."""
        return [f"{self.name} {part}" for part in self.parts] if len(self.parts) > 1 else [self.name]


@dataclass(frozen=True)
class Section:
    """Rows that belong together; `keys` say what they share, in the order of the table's `keys`."""

    keys: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        return ", ".join(key for key in self.keys if key)


@dataclass(frozen=True)
class Table:
    """Rows of cells in sections, under columns."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for section in self.sections:
            if len(section.keys) != len(self.keys):
                raise ValueError(f"table {self.name}: section {section.keys} must have the keys {self.keys}")
        for row in self.rows():
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: a row has {len(row)} cells for {len(self.columns)} columns")
            for entry, column in zip(row, self.columns, strict=True):
                if entry.numbers and len(entry.numbers) != len(column.parts):
                    raise ValueError(f"table {self.name}: '{column.title}' holds {column.parts}, not {entry.numbers}")

    def rows(self) -> Iterator[Row]:
        """All rows, section by section."""
        for section in self.sections:
            yield from section.rows

    def flat(self) -> tuple[list[Column], list[Row]]:
        """Columns and rows with the keys of each section before its rows, for a page that has no sections."""
        columns = [*map(Column, self.keys), *self.columns]
        return columns, [(*map(Entry, part.keys), *row) for part in self.sections for row in part.rows]


def table_of(
    name: str,
    caption: str,
    columns: Sequence[Column],
    sections: Sequence[tuple[tuple[str, ...], Sequence[Row]]],
    keys: tuple[str, ...] = (),
) -> Table | None:
    """Return the table of the sections that have rows; None if none has."""
    kept = tuple(Section(of, tuple(rows)) for of, rows in sections if rows)
    return Table(name, caption, tuple(columns), kept, keys) if kept else None


def one(value: Value, shown: Shown) -> Entry:
    """Return an entry with one number."""
    return MISSING if value is None else Entry(shown(value), (value,))


def mean_of(numbers: Sequence[float], shown: Shown, *more: Value) -> Entry:
    """Mean ± standard deviation (ddof = 1); one number has no spread, and none is a dash."""
    if not numbers:
        return Entry(NONE, (None, None, 0, *more))
    mean, spread = fmean(numbers), stdev(numbers) if len(numbers) > 1 else None
    return Entry(with_spread(mean, spread, shown), (mean, spread, len(numbers), *more))


def rate(numbers: Sequence[float], *more: Value) -> Entry:
    """The share of ones among ones and zeros, without a spread."""
    return MISSING if not numbers else replace(mean_of(numbers, percent(), *more), text=percent()(fmean(numbers)))


def ranked(rows: Sequence[Row], columns: Sequence[int], higher: bool | None) -> list[Row]:
    """Shade each of these columns by its first number, and mark the entries that are displayed like the best one.

    If all are displayed alike, none is marked. With `higher` None, neither direction is better.
    """
    for at in columns if higher is not None else ():
        known = {value: _mean_text(row[at]) for row in rows if (value := row[at].value) is not None}
        if len(set(known.values())) < 2:
            continue
        low, high = min(known), max(known)
        best, worst = (high, low) if higher else (low, high)
        rows = [(*row[:at], _ranked(row[at], best, worst, known[best]), *row[at + 1 :]) for row in rows]
    return list(rows)


def _ranked(entry: Entry, best: float, worst: float, shown: str) -> Entry:
    if entry.value is None:
        return entry
    return replace(entry, shade=(entry.value - worst) / (best - worst), best=_mean_text(entry) == shown)


def _mean_text(entry: Entry) -> str:
    return entry.text.split(" ± ")[0]
