"""The published endpoints, and a study's own beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.tables._entries import Shown, fixed, mean_of, one, percent, seconds, signed, with_spread
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import RETRAIN, Run, distinct, paired, runs_of, those, values
from hybridal.evidence.tables._schedules import schedule_of
from hybridal.evidence.tables.measures import COST, SECONDS_NOTE
from hybridal.evidence.tables.names import task_names
from hybridal.evidence.tables.published import Endpoint, Spread, known_backbone, known_task, published, published_method
from hybridal.evidence.tables.table import MEAN, MISSING, Column, Entry, Row, Section, Table
from hybridal.schedules.hybrid import HybridAL

__all__ = ["against_paper", "published", "units_of_noise"]

DIFFERS, WITHIN, ONE_SEED = "differs by more than noise", "within noise", "one seed only"
CONFIDENCE = 0.95
ROUNDS, LABELS = 25, 968
TUNED = {"alpha": (1e-4, 3), "accuracy": (5e-3, 2)}


def against_paper(results: Results) -> Table | None:
    """Published and measured values side by side, for the cells that both have; None where there are none.

    >>> from hybridal.evidence.tables._example import example
    >>> table = against_paper(example()[0])
    >>> [entry.text for entry in table.sections[0].rows[0]][:6]
    ['Retrain', 'IMDb', '0.819 ± 0.021', '0.823 ± 0.004', '+0.004 (+0.4 units)', 'within noise']
    """
    rows = [row for row in runs_of(results) if row["test_f1"] is not None and row["acquisition"] == "entropy"]
    known = {(one.backbone, one.method, one.task): one for one in published()}
    sections = []
    for keys, members in settings(rows):
        names, tasks = distinct_names(distinct(members, "schedule")), task_names(distinct(members, "task"))
        lines: list[Row] = []
        for spec, method in names.items():
            for task, title in tasks.items():
                mine = those(members, schedule=spec, task=task)
                cell = (known_backbone(members[0]["backbone"]), published_method(spec) or "", known_task(task))
                if mine and cell in known:
                    retrain = known[(cell[0], "Retrain", cell[2])]
                    lines.append((Entry(method), Entry(title), *_row(mine, members, known[cell], retrain)))
        if lines:
            sections.append(Section(keys, tuple(lines)))
    if not sections:
        return None
    shown = [entry.text for section in sections for row in section.rows for entry in row]
    judged = sum(text in (DIFFERS, WITHIN) for text in shown)
    caption = (
        "Published endpoints and measured ones: mean ± std over seeds; the difference in units of its standard error, "
        "which both sides' seeds give; and whether that is more than Welch's test allows at 95% (by chance alone, "
        f"about {judged / 20:.0f} of {judged} would be). Saved: of Retrain's cost in the same cell. The paper's time "
        f"table mixes machines; where it does, its seconds are marked ✗ and must not be compared. {SECONDS_NOTE}"
    )
    return Table("against-paper", caption, _columns(), tuple(sections), setting_keys(rows))


def _columns() -> tuple[Column, ...]:
    columns = [Column("Method"), Column("Task")]
    for name in ("F1", "NLL"):
        columns += [Column("Published", MEAN, name), Column("Measured", MEAN, name)]
        columns += [Column("Difference", ("value", "units"), name), Column("Verdict", group=name)]
    columns += [Column("Published", ("value",), "t*"), Column("Measured", MEAN, "t*")]
    columns += [Column("Published", MEAN, "Seconds"), Column("Measured", MEAN, "Seconds")]
    columns += [Column("Timed on", group="Seconds"), Column("Published s", ("value",), "Saved")]
    columns += [Column("Measured s", ("value",), "Saved"), Column("Measured steps", ("value",), "Saved")]
    return (*columns, Column("Remarks"))


def _row(mine: Sequence[Run], members: Sequence[Run], cell: Endpoint, retrain: Endpoint) -> list[Entry]:
    entries = [
        *_compared(cell.f1, values(mine, "test_f1"), fixed(3)),
        *_compared(cell.nll, values(mine, "test_nll"), fixed(3)),
        one(cell.t_star, fixed(1)),
        mean_of(values(mine, "t_star"), fixed(1)),
        _reported(cell.seconds, seconds, "" if cell.time_is_comparable else "✗"),
        mean_of(values(mine, "training_time"), seconds),
        Entry("one machine" if cell.time_is_comparable else f"not comparable: {cell.time_class.replace('_', ' ')}"),
    ]
    both = cell.method != "Retrain" and cell.time_is_comparable and retrain.time_is_comparable
    entries.append(one(1 - cell.seconds.mean / retrain.seconds.mean, percent(1)) if both else MISSING)
    for column in (cost.column for cost in reversed(COST)):
        new, old = paired(mine, those(members, schedule=RETRAIN), column)
        saved = 1 - sum(new) / sum(old) if sum(old) and cell.method != "Retrain" else None
        entries.append(one(saved, percent(1)))
    return [*entries, Entry(_remarks(mine[0]))]


def _compared(reported: Spread, numbers: list[float], shown: Shown) -> list[Entry]:
    measured = Spread(fmean(numbers), stdev(numbers) if len(numbers) > 1 else None, len(numbers))
    units, verdict = units_of_noise(measured, reported)
    difference = measured.mean - reported.mean
    text = signed(3)(difference) + ("" if units is None else f" ({signed(1)(units)} units)")
    return [_reported(reported, shown), mean_of(numbers, shown), Entry(text, (difference, units)), Entry(verdict)]


def _reported(spread: Spread, shown: Shown, mark: str = "") -> Entry:
    assert spread.std is not None
    return Entry(with_spread(spread.mean, spread.std, shown), (spread.mean, spread.std, spread.n), mark)


def _remarks(row: Run) -> str:
    """Where a run was not asked for what the paper reports."""
    remarks = []
    if (row["rounds"], row["labels"]) != (ROUNDS, LABELS):
        remarks.append(f"{row['rounds']} rounds and {row['labels']} labels, published {ROUNDS} and {LABELS}")
    schedule = schedule_of(row["schedule"])
    if isinstance(schedule, HybridAL) and (schedule.epsilon, schedule.patience) != TUNED.get(schedule.signal.name):
        remarks.append("other ε or k")
    return "; ".join(remarks) or "–"


def units_of_noise(measured: Spread, reported: Spread) -> tuple[float | None, str]:
    """The difference of two means in units of its standard error over seeds, and what to make of it.

    Welch's test at 95%: neither side's spread is taken for the other's. Two spreads of zero leave no unit.

    >>> units, verdict = units_of_noise(Spread(0.830, 0.010, 3), Spread(0.819, 0.021, 5))
    >>> round(units, 2), verdict
    (1.0, 'within noise')
    >>> units_of_noise(Spread(0.83, None, 1), Spread(0.819, 0.021, 5))
    (None, 'one seed only')
    """
    if measured.std is None or reported.std is None:
        return None, ONE_SEED
    parts = [spread.std**2 / spread.n for spread in (measured, reported) if spread.std]
    difference = measured.mean - reported.mean
    if not parts:
        return None, DIFFERS if difference else WITHIN

    from scipy.special import stdtrit

    error = math.sqrt(sum(parts))
    squares = [(s.std**2 / s.n) ** 2 / (s.n - 1) for s in (measured, reported) if s.std]
    least = float(stdtrit(sum(parts) ** 2 / sum(squares), (1 + CONFIDENCE) / 2))
    return difference / error, DIFFERS if abs(difference / error) > least else WITHIN
