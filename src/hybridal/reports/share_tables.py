"""The estimates of a project as a table."""

from __future__ import annotations

from hybridal.measures.shares.share_sentences import confidence_of, percent, points, unit_of
from hybridal.measures.shares.share_table import Interval, Kind, Line, ShareTable
from hybridal.reports.number_formats import Shown, count
from hybridal.reports.report_table import MISSING, ONE, Column, Entry, Row, Table, one, table_of

NAME = "shares"
_ENDS = ("value", "low", "high")


def table_of_shares(table: ShareTable) -> Table | None:
    """Return all estimates as a table: shares in percent of the texts, differences and trends in percentage points."""
    sure = confidence_of(table)
    columns = (
        Column("of"),
        Column("class"),
        Column("texts", ONE),
        Column("random labels", ONE),
        Column("counted by the model", ONE),
        Column(f"random labels alone ({sure})", _ENDS),
        Column(f"estimate ({sure})", _ENDS),
    )
    titles: dict[Kind, str] = {
        "share": "Shares",
        "difference": "Differences in points",
        "trend": f"Trend in points per {unit_of(table)}",
    }
    sections = [((title,), [_row(line) for line in table.of(kind)]) for kind, title in titles.items()]
    return table_of(NAME, "", columns, sections, ("what",))


def _row(line: Line) -> Row:
    shown = percent if line.kind == "share" else points
    group = line.group or "all texts"
    if line.kind == "difference":
        group = f"{line.group} − {line.other or 'all other texts'}"
    numbers = (one(number, lambda value: count(int(value))) for number in (line.texts, line.labels))
    return (
        Entry(group),
        Entry(line.name),
        *numbers,
        one(line.count, shown),
        _entry(line.alone, shown),
        _entry(line.estimate, shown),
    )


def _entry(interval: Interval | None, shown: Shown) -> Entry:
    if interval is None:
        return MISSING
    low, high = shown(interval.low), shown(interval.high)
    return Entry(f"{shown(interval.value)} ({low} to {high})", (interval.value, interval.low, interval.high))


def aligned(table: Table) -> str:
    """Return a table as text for a terminal, with aligned columns and a heading for each section."""
    columns = [[column.title, *(row[at].text for row in table.rows())] for at, column in enumerate(table.columns)]
    widths = [max(map(len, column)) for column in columns]
    numbers = [bool(column.parts) for column in table.columns]

    def line(cells: list[str]) -> str:
        parts = zip(cells, widths, numbers, strict=True)
        return "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in parts).rstrip()

    blocks = [
        "\n".join([section.title, *(line([" ".join(entry.text.split()) for entry in row]) for row in section.rows)])
        for section in table.sections
    ]
    return "\n\n".join([line([column.title for column in table.columns]), *blocks])
