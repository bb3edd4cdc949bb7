"""Acquired batches before and after the switch: overlap with Retrain, scores and classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

import numpy as np

from hybridal.core.rounds import Round
from hybridal.lab.reports.dataset_tables import is_there
from hybridal.lab.reports.method_grid import by_method, sectioned
from hybridal.lab.statistics.regret import switch_round
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.lab.study.study_results import (
    RETRAIN,
    Results,
    Run,
    cell_of,
    complete_runs,
    distinct,
    factors,
    grouped,
    those,
)
from hybridal.reports.display_names import task_names
from hybridal.reports.number_formats import fixed, signed
from hybridal.reports.report_table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one

Value = TypeVar("Value")
BEFORE, AFTER = "Before the switch", "After the switch"


def acquiring_runs(folder: StudyFolder) -> list[Run]:
    """Return the runs that retrain and then fine-tune, or do only one of both.

    Each row has the run's `cell`, its `history`, and `t_star`, the last round before the switch.
    """
    rows: list[Run] = []
    for cell, spec, history in complete_runs(folder):
        first = switch_round(history[-1].update_sequence)
        if not np.isnan(first) and any(fact.acquired for fact in history):
            t_star = int(first) - 1 if first <= len(history) else None
            rows.append({**factors(cell, spec), "cell": cell, "history": history, "t_star": t_star})
    return rows


def batch_overlap(results: Results) -> Table | None:
    """Return the Jaccard overlap of the acquired batches with those of the paired Retrain run."""

    def lines(members: list[Run]) -> Iterator[Row]:
        retrain = {cell_of(row): row["history"] for row in those(members, schedule=RETRAIN)}
        for _, name, mine in by_method(members, (RETRAIN,)):
            both = [row for row in mine if cell_of(row) in retrain]
            overlaps = [batch_overlaps(row["history"], retrain[cell_of(row)]) for row in both]
            found = before_after(overlaps, [row["t_star"] for row in both])
            if any(found):
                yield (Entry(name), *map(_spread, found))

    caption = (
        "Jaccard overlap of acquired batches with those of the Retrain run of the same seed in the same round: mean ± "
        "std over rounds of all tasks and seeds. Before the switch both are the same run."
    )
    columns = [Column("Method"), Column(BEFORE, MEAN), Column(AFTER, MEAN)]
    return sectioned("batch-overlap", caption, columns, acquiring_runs(results.folder), lines)


def batch_scores(results: Results) -> Table | None:
    """Return the mean acquisition score of the batches (their mean entropy if the acquisition is entropy)."""

    def lines(members: list[Run]) -> Iterator[Row]:
        for _, name, mine in sorted(by_method(members), key=lambda method: method[0] != RETRAIN):
            scores, t_stars = [mean_scores(row["history"]) for row in mine], [row["t_star"] for row in mine]
            before, after = before_after(scores, t_stars)
            if before or after:
                yield (Entry(name), _spread(before), _spread(after), one(_moved(scores, t_stars), signed(3)))

    rows = acquiring_runs(results.folder)
    what = "predictive entropy" if distinct(rows, "acquisition") == ["entropy"] else "acquisition score"
    caption = (
        f"Mean {what} of acquired batches: mean ± std over rounds of all tasks and seeds. Change: within a run, "
        "averaged over those that switched. Retrain never switches: all its rounds come before."
    )
    columns = [Column("Method"), Column(BEFORE, MEAN), Column(AFTER, MEAN), Column("Change", ONE)]
    return sectioned("batch-scores", caption, columns, rows, lines)


def _spread(numbers: Sequence[float]) -> Entry:
    return mean_of(numbers, fixed(3)) if numbers else MISSING


def _moved(runs: Sequence[Sequence[float | None]], t_stars: Sequence[int | None]) -> float | None:
    """Return the change within each run, so that it does not matter which tasks' runs switched."""
    parts = [before_after([values], [t_star]) for values, t_star in zip(runs, t_stars, strict=True)]
    changes = [fmean(after) - fmean(before) for before, after in parts if before and after]
    return fmean(changes) if changes else None


def batch_overlaps(first: Sequence[Round], second: Sequence[Round]) -> list[float | None]:
    """Return, by round, the Jaccard overlap of what two runs acquired: the size of the intersection over the union."""
    pairs = [(set(one.acquired), set(other.acquired)) for one, other in zip(first, second, strict=True)]
    return [len(one & other) / len(one | other) if one | other else None for one, other in pairs]


def mean_scores(history: Sequence[Round]) -> list[float | None]:
    """Return, by round, the mean acquisition score of the batch (its mean entropy if the acquisition is entropy)."""
    return [float(np.mean(fact.scores)) if fact.scores else None for fact in history]


def before_after(
    runs: Iterable[Sequence[Value | None]], t_stars: Iterable[int | None]
) -> tuple[list[Value], list[Value]]:
    """Pool values over runs into those up to each run's t* and those after it; None values are left out.

    The batch of round t* was still chosen by a retrained model. In a run that never fired, all values are before.

    >>> before_after([[1.0, 1.0, 0.25, None], [1.0, 0.5, 0.25, None]], [2, 1])
    ([1.0, 1.0, 1.0], [0.25, 0.5, 0.25])
    """
    parts: tuple[list[Value], list[Value]] = ([], [])
    for values, t_star in zip(runs, t_stars, strict=True):
        for round, value in enumerate(values, start=1):
            if value is not None:
                parts[t_star is not None and round > t_star].append(value)
    return parts


def class_shares(ids: Sequence[str], labels: Mapping[str, str], classes: Sequence[str]) -> list[float] | None:
    """Return the share of each class among these ids; None without ids.

    >>> class_shares(["a", "b", "c", "d"], {"a": "x", "b": "x", "c": "x", "d": "y"}, ["x", "y"])
    [0.75, 0.25]
    """
    counts = Counter(labels[id] for id in ids)
    return [counts[name] / len(ids) for name in classes] if ids else None


def batch_classes(results: Results) -> Table | None:
    """Return the class shares of acquired batches and of the pool."""
    rows = [row for row in acquiring_runs(results.folder) if is_there(results.folder, row["cell"])]
    names = task_names(distinct(rows, "task"))
    labels, pools = _labels_and_pools(results.folder, rows)

    def lines(members: list[Run]) -> Iterator[Row]:
        for _, method, mine in by_method(members, (RETRAIN,)):
            for task in distinct(mine, "task"):
                runs = those(mine, task=task)
                pool, known = pools[task_key(runs[0]["cell"].settings)], labels[task]
                acquired = [[fact.acquired for fact in row["history"]] for row in runs]
                batches = before_after(acquired, [row["t_star"] for row in runs])
                ids = [[id for batch in part for id in batch if id in known] for part in batches]
                usual = [n / max(1, sum(pool.values())) for n in pool.values()]
                parts = [*(class_shares(part, known, list(pool)) for part in ids), usual]
                for at, name in enumerate(pool):
                    numbers = [one(100 * part[at] if part else None, fixed(1)) for part in parts]
                    yield (Entry(method), Entry(names[task]), Entry(name), *numbers)

    columns = [*map(Column, ("Method", "Task", "Class")), *(Column(title, ONE) for title in (BEFORE, AFTER, "Pool"))]
    caption = "Classes of acquired batches in percent, all seeds together, compared with the whole pool."
    return sectioned("batch-classes", caption, columns, rows, lines)


def _labels_and_pools(
    folder: StudyFolder, rows: Sequence[Run]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, int]]]:
    """Return the acquired labels by task, and the pool's classes by task key; the texts are not kept in memory."""
    labels: dict[str, dict[str, str]] = {}
    pools: dict[str, dict[str, int]] = {}
    for key, own in grouped(rows, lambda row: task_key(row["cell"].settings)).items():
        task = folder.task(own[0]["cell"])
        counts = [int(np.count_nonzero(task.train.labels == label)) for label in range(len(task.classes))]
        pools[key] = dict(zip(task.classes, counts, strict=True))
        acquired = {id for row in own for fact in row["history"] for id in fact.acquired}
        labels.setdefault(own[0]["task"], {}).update(task.answers(sorted(acquired)))
    return labels, pools
