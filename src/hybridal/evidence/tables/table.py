"""A table as data: what is shown, the exact numbers behind it, and what stands out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybridal.evidence.formats import NONE

Value = float | int | None
MEAN = ("mean", "std", "n")


@dataclass(frozen=True)
class Entry:
    """One cell: its text, and the numbers that it was shortened from, one for each part of its column.

    `marks` are signs such as `*` that the caption explains, `best` the best of its column, `chosen` what a rule chose,
    and `shade` says how good it is among its column, from 0 to 1.
    """

    text: str
    numbers: tuple[Value, ...] = ()
    marks: str = ""
    best: bool = False
    chosen: bool = False
    shade: float | None = None


MISSING = Entry(NONE)


@dataclass(frozen=True)
class Column:
    """What a column holds. `parts` names the numbers of its cells; a column without parts holds words.

    >>> Column("IMDb", MEAN, group="F1").fields()
    ['F1 IMDb mean', 'F1 IMDb std', 'F1 IMDb n']
    >>> Column("t*", ("value",)).fields(), Column("Method").fields()
    (['t*'], ['Method'])
    """

    title: str
    parts: tuple[str, ...] = ()
    group: str = ""

    def fields(self) -> list[str]:
        """The names under which a file of exact values holds this column."""
        name = f"{self.group} {self.title}".strip()
        return [f"{name} {part}" for part in self.parts] if len(self.parts) > 1 else [name]


Row = tuple[Entry, ...]


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
    """Rows of cells in sections, under columns.

    >>> section = Section(("BERT",), ((Entry("Retrain"), Entry("0.67", (0.667,))),))
    >>> table = Table("f1", "Test F1.", (Column("Method"), Column("Yahoo", ("value",))), (section,), ("Backbone",))
    >>> [[entry.text for entry in row] for row in table.rows()]
    [['Retrain', '0.67']]
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for section in self.sections:
            if len(section.keys) != len(self.keys):
                raise ValueError(f"table {self.name}: section {section.keys} must have the keys {self.keys}")
            for row in section.rows:
                self._check(row)

    def _check(self, row: Row) -> None:
        if len(row) != len(self.columns):
            raise ValueError(f"table {self.name}: a row has {len(row)} cells for {len(self.columns)} columns")
        for entry, column in zip(row, self.columns, strict=True):
            if entry.numbers and len(entry.numbers) != len(column.parts):
                raise ValueError(f"table {self.name}: '{column.title}' holds {column.parts}, not {entry.numbers}")

    def rows(self) -> Iterator[Row]:
        """All rows, section by section."""
        for section in self.sections:
            yield from section.rows
