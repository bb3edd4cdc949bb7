"""How over-confident are methods? The fitted temperature, and what scaling by it mends."""

from __future__ import annotations

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.tables._entries import fixed, mean_of, percent, ranked
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import distinct, runs_of, split_of, those, values
from hybridal.evidence.tables.table import MEAN, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder

_COLUMNS = (
    ("τ", "temperature", fixed(2)),
    ("NLL", "nll", fixed(3)),
    ("NLL(τ)", "nll_scaled", fixed(3)),
    ("ECE", "ece", percent(1)),
    ("ECE(τ)", "ece_scaled", percent(1)),
)


def temperature(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """The temperature that fits validation, and NLL and ECE before and after scaling by it.

    >>> from hybridal.evidence.tables._example import example
    >>> [[entry.text for entry in row] for row in temperature(*example()).sections[0].rows][0][:4]
    ['Retrain', '0.99 ± 0.01', '0.343 ± 0.065', '0.343 ± 0.065']
    """
    rows = [row for row in runs_of(results) if row["temperature"] is not None]
    if not rows:
        return None
    sections = []
    for keys, members in settings(rows):
        lines: list[Row] = []
        for spec, name in distinct_names(distinct(members, "schedule")).items():
            mine = those(members, schedule=spec)
            lines.append((Entry(name), *(mean_of(values(mine, column), shown) for _, column, shown in _COLUMNS)))
        sections.append(Section(keys, tuple(ranked(lines, range(2, len(_COLUMNS) + 1), higher=False))))
    columns = (Column("Method"), *(Column(title, MEAN) for title, _, _ in _COLUMNS))
    caption = (
        f"Temperature scaling after the last round: τ fitted on validation (above 1: over-confident), NLL and ECE on "
        f"{split_of(rows)} before and after scaling; mean ± std over all tasks and seeds."
    )
    return Table("temperature", caption, columns, tuple(sections), setting_keys(rows))
