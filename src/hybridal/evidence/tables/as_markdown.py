"""A table as Markdown."""

from __future__ import annotations

import re

from hybridal.evidence.tables.table import Column, Entry, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$&!])")


def to_markdown(table: Table) -> str:
    """The best in bold, what a rule chose as code; a section begins with a row of its own.

    >>> from hybridal.evidence.tables.table import Section
    >>> rows = ((Entry("Retrain"), Entry("0.67", (0.667,), best=True)), (Entry("a|b"), Entry("0.61", (0.61,), "*")))
    >>> columns = (Column("Method"), Column("Yahoo", ("value",)))
    >>> print(to_markdown(Table("f1", "Test F1.", columns, (Section((), rows),))))
    Test F1.
    <BLANKLINE>
    | Method | Yahoo |
    | :-- | --: |
    | Retrain | **0.67** |
    | a\\|b | 0.61\\* |
    <BLANKLINE>
    """
    lines = [plain(table.caption), ""] if table.caption else []
    lines.append(_line([_heading(column) for column in table.columns]))
    lines.append(_line(["--:" if column.parts else ":--" for column in table.columns]))
    for section in table.sections:
        if section.title:
            lines.append(_line([f"**{plain(section.title)}**", *[""] * (len(table.columns) - 1)]))
        lines += [_line([_shown(entry) for entry in row]) for row in section.rows]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line.

    >>> print(plain("a_b\\n<c>"))
    a\\_b \\<c\\>
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _heading(column: Column) -> str:
    return plain(": ".join(part for part in (column.group, column.title) if part))


def _shown(entry: Entry) -> str:
    text = plain(entry.text)
    if entry.chosen and "`" not in entry.text:
        text = f"`{' '.join(entry.text.split())}`".replace("|", "\\|")
    elif entry.best:
        text = f"**{text}**"
    return text + plain(entry.marks)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
