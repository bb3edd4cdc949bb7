"""What runs acquired before and after they switched: overlap with Retrain, and uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from hybridal.evidence.results import Results
from hybridal.evidence.statistics.composition import (
    Spread,
    batch_overlaps,
    before_after,
    mean_scores,
)
from hybridal.evidence.tables._acquired import AFTER, BEFORE, acquiring_runs, switching_methods
from hybridal.evidence.tables._entries import fixed, one, signed, with_spread
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import RETRAIN, cell_of, distinct, those
from hybridal.evidence.tables.table import MEAN, MISSING, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder


def batch_overlap(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Jaccard overlap of the acquired batches with those of the paired Retrain run.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in batch_overlap(*example()).sections[0].rows[1]]
    ['HybridAL ΔAcc', '1.000 ± 0.000', '0.008 ± 0.033']
    """
    rows = acquiring_runs(folder)
    sections = []
    for keys, members in settings(rows):
        retrain = {cell_of(row): row["run"] for row in those(members, schedule=RETRAIN)}
        lines: list[Row] = []
        for name, mine in switching_methods(members):
            pairs = [(row["run"], retrain[cell_of(row)]) for row in mine if cell_of(row) in retrain]
            overlaps = [batch_overlaps(run.history, other.history) for run, other in pairs]
            found = before_after(overlaps, [run.t_star for run, _ in pairs])
            if found[0].n + found[1].n:
                lines.append((Entry(name), *(_spread(part) for part in found)))
        if lines:
            sections.append(Section(keys, tuple(lines)))
    if not sections:
        return None
    columns = (Column("Method"), Column(BEFORE, MEAN), Column(AFTER, MEAN))
    caption = (
        "Jaccard overlap of acquired batches with those of the Retrain run of the same seed in the same round: mean ± "
        "std over rounds of all tasks and seeds. Before the switch both are the same run."
    )
    return Table("batch-overlap", caption, columns, tuple(sections), setting_keys(rows))


def batch_scores(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """The mean score of acquired batches: their mean entropy, where entropy acquires.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in batch_scores(*example()).sections[0].rows[0]]
    ['Retrain', '0.554 ± 0.048', '–', '–']
    """
    rows = acquiring_runs(folder)
    sections = []
    for keys, members in settings(rows):
        lines: list[Row] = []
        for name, mine in [("Retrain", those(members, schedule=RETRAIN)), *switching_methods(members)]:
            scores = [mean_scores(row["run"].history) for row in mine]
            before, after = before_after(scores, [row["run"].t_star for row in mine])
            if before.n + after.n:
                moved = one(_moved(scores, [row["run"].t_star for row in mine]), signed(3))
                lines.append((Entry(name), _spread(before), _spread(after), moved))
        if lines:
            sections.append(Section(keys, tuple(lines)))
    if not sections:
        return None
    what = "predictive entropy" if distinct(rows, "acquisition") == ["entropy"] else "acquisition score"
    columns = (Column("Method"), Column(BEFORE, MEAN), Column(AFTER, MEAN), Column("Change", ("value",)))
    caption = (
        f"Mean {what} of acquired batches: mean ± std over rounds of all tasks and seeds. Change: within a run, "
        "averaged over those that switched. Retrain never switches: all its rounds come before."
    )
    return Table("batch-scores", caption, columns, tuple(sections), setting_keys(rows))


def _spread(found: Spread) -> Entry:
    if found.mean is None:
        return MISSING
    return Entry(with_spread(found.mean, found.sd, fixed(3)), (found.mean, found.sd, found.n))


def _moved(runs: Sequence[Sequence[float | None]], t_stars: Sequence[int | None]) -> float | None:
    """Within each run, so that it does not matter which tasks' runs switched."""
    parts = [before_after([values], [t_star]) for values, t_star in zip(runs, t_stars, strict=True)]
    changes = [
        after.mean - before.mean for before, after in parts if before.mean is not None and after.mean is not None
    ]
    return fmean(changes) if changes else None
