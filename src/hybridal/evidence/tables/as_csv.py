"""A table as CSV: one column a number, every number exact."""

from __future__ import annotations

import csv
import io
from itertools import chain

from hybridal.evidence.tables.table import Column, Entry, Table, Value


def to_csv(table: Table) -> str:
    """All numbers as they print in full, so that reading them gives the same ones again; a missing one is empty.

    >>> from hybridal.evidence.tables.table import MEAN, Section
    >>> row = (Entry("Retrain"), Entry("0.67 ± 0.00", (2 / 3, 0.001, 5)))
    >>> table = Table("f1", "", (Column("Method"), Column("Yahoo", MEAN)), (Section(("BERT",), (row,)),), ("Backbone",))
    >>> print(to_csv(table), end="")
    Backbone,Method,Yahoo mean,Yahoo std,Yahoo n
    BERT,Retrain,0.6666666666666666,0.001,5
    """
    lines = [_line([*table.keys, *(name for column in table.columns for name in column.fields())])]
    for section in table.sections:
        for row in section.rows:
            cells = [_fields(entry, column) for entry, column in zip(row, table.columns, strict=True)]
            lines.append(_line([*section.keys, *chain(*cells)]))
    return "".join(lines)


def _line(fields: list[str]) -> str:
    """With the line end that makes the writer quote a field for either of its two signs, and without it afterwards."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(fields)
    return text.getvalue().removesuffix("\r\n") + "\n"


def _fields(entry: Entry, column: Column) -> list[str]:
    if not column.parts:
        return [entry.text]
    return [_exact(number) for number in entry.numbers] or [""] * len(column.parts)


def _exact(number: Value) -> str:
    return "" if number is None else repr(number)
