"""What methods save against Retrain, all tasks together."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.bootstrap import bootstrap
from hybridal.evidence.tables._entries import fixed, mean_of, one, percent, ranked
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import RETRAIN, Run, distinct, paired, runs_of, split_of, those, values
from hybridal.evidence.tables.measures import COST, F1, NLL, SECONDS_NOTE, Measure
from hybridal.evidence.tables.table import MEAN, MISSING, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder

_RESAMPLES = 4999
_CELLS = 5


def savings(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Pooled means, and the share of Retrain's cost that a method saves in the same cells.

    >>> from hybridal.evidence.tables._example import example
    >>> table = savings(*example())
    >>> [entry.text for entry in table.sections[0].rows[1]][::2]
    ['FineTune', '0.747 ± 0.065', '39.4%', '37.8 ± 0.5', '39.4%']
    """
    rows = runs_of(results)
    if not those(rows, schedule=RETRAIN):
        return None
    found = [*settings(rows)]
    if len(distinct(rows, "backbone")) > 1:
        found += [(("All backbones", *keys), members) for keys, members in settings(rows, ("backbone",))]
    columns = [Column("Method"), *(Column(measure.on(split_of(rows)).title, MEAN) for measure in (F1, NLL))]
    for measure in COST:
        columns.append(Column("Mean", MEAN, measure.title))
        columns.append(Column("Saved in all", ("value",), measure.title))
        columns.append(Column("Saved a run [95%]", ("mean", "low", "high"), measure.title))
    sections = tuple(Section(keys, tuple(_rows(members))) for keys, members in found)
    caption = (
        "All tasks and seeds together: mean ± std, and the share of Retrain's cost that is saved in the cells that "
        "both have: of the sums, and the mean over runs with its bootstrap interval, for which whole (backbone, task) "
        f"cells are drawn again (from {_CELLS} of them on). {SECONDS_NOTE}"
    )
    return Table("savings", caption, tuple(columns), sections, setting_keys(rows))


def _rows(rows: Sequence[Run]) -> list[Row]:
    names = distinct_names(distinct(rows, "schedule"))
    reference = those(rows, schedule=RETRAIN)
    lines: list[Row] = []
    for spec, name in names.items():
        mine = those(rows, schedule=spec)
        entries = [mean_of(values(mine, measure.column), measure.shown) for measure in (F1, NLL)]
        for measure in COST:
            entries.append(mean_of(values(mine, measure.column), measure.shown))
            entries += _saved(mine, reference, measure) if spec != RETRAIN else [MISSING, MISSING]
        lines.append((Entry(name), *entries))
    lines = ranked(lines, [1], higher=True)
    return ranked(lines, [2, 3, 6], higher=False)


def _saved(mine: Sequence[Run], reference: Sequence[Run], measure: Measure) -> list[Entry]:
    new, old = paired(mine, reference, measure.column)
    if not new or not all(old):
        return [MISSING, MISSING]
    cells = []
    for backbone in distinct(mine, "backbone"):
        for task in distinct(mine, "task"):
            some, other = paired(those(mine, backbone=backbone, task=task), reference, measure.column)
            if some:
                cells.append([1 - a / b for a, b in zip(some, other, strict=True)])
    saved = one(1 - sum(new) / sum(old), percent(1))
    mean = fmean(value for cell in cells for value in cell)
    found = bootstrap(cells, method="percentile", resamples=_RESAMPLES) if len(cells) >= _CELLS else None
    if found is None or found.low is None or found.high is None:
        return [saved, Entry(percent(1)(mean), (mean, None, None))]
    text = f"{percent(1)(mean)} [{fixed(1)(100 * found.low)}, {fixed(1)(100 * found.high)}]"
    return [saved, Entry(text, (mean, found.low, found.high))]
