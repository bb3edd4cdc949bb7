"""Acquired batches before and after the switch: overlap with Retrain, scores and classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

import numpy as np
import pandas as pd

from hybridal.core.rounds import Round
from hybridal.lab.reports.dataset_tables import is_there
from hybridal.lab.reports.method_grid import by_method, sectioned
from hybridal.lab.statistics.regret import switch_round
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.lab.study.study_results import CELL, FACTORS, RETRAIN, Results, complete_runs, factors
from hybridal.reports.display_names import task_names
from hybridal.reports.number_formats import fixed, signed
from hybridal.reports.report_table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one

Value = TypeVar("Value")
BEFORE, AFTER = "Before the switch", "After the switch"


def acquiring_runs(folder: StudyFolder) -> pd.DataFrame:
    """Return the runs that retrain and then fine-tune, or do only one of both.

    Each row has the run's `cell`, its `history`, and `t_star`, the last round before the switch, or of the run.
    """
    rows = []
    for cell, spec, history in complete_runs(folder):
        first = switch_round(history[-1].update_sequence)
        if not np.isnan(first) and any(record.acquired for record in history):
            rows.append((*factors(cell, spec).values(), cell, history, int(first) - 1))
    return pd.DataFrame(rows, columns=[*FACTORS, "cell", "history", "t_star"])


def batch_overlap(results: Results) -> Table | None:
    """Return the Jaccard overlap of the acquired batches with those of the paired Retrain run."""

    def lines(members: pd.DataFrame) -> Iterator[Row]:
        retrain = members.loc[members["schedule"] == RETRAIN, [*CELL, "history"]]
        for _, name, mine in by_method(members, (RETRAIN,)):
            both = mine.merge(retrain, on=CELL, suffixes=("", "_retrain"))
            overlaps = list(map(batch_overlaps, both["history"], both["history_retrain"]))
            found = before_after(overlaps, both["t_star"])
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

    def lines(members: pd.DataFrame) -> Iterator[Row]:
        for _, name, mine in sorted(by_method(members), key=lambda method: method[0] != RETRAIN):
            scores, t_stars = list(map(mean_scores, mine["history"])), mine["t_star"].tolist()
            before, after = before_after(scores, t_stars)
            if before or after:
                yield (Entry(name), _spread(before), _spread(after), one(_moved(scores, t_stars), signed(3)))

    runs = acquiring_runs(results.folder)
    what = "predictive entropy" if set(runs["acquisition"]) == {"entropy"} else "acquisition score"
    caption = (
        f"Mean {what} of acquired batches: mean ± std over rounds of all tasks and seeds. Change: within a run, "
        "averaged over those that switched. Retrain never switches: all its rounds come before."
    )
    columns = [Column("Method"), Column(BEFORE, MEAN), Column(AFTER, MEAN), Column("Change", ONE)]
    return sectioned("batch-scores", caption, columns, runs, lines)


def _spread(numbers: Sequence[float]) -> Entry:
    return mean_of(numbers, fixed(3)) if numbers else MISSING


def _moved(runs: Sequence[Sequence[float | None]], t_stars: Sequence[int]) -> float | None:
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
    return [float(np.mean(record.scores)) if record.scores else None for record in history]


def before_after(runs: Iterable[Sequence[Value | None]], t_stars: Iterable[int]) -> tuple[list[Value], list[Value]]:
    """Pool values over runs into those up to each run's t* and those after it; None values are left out.

    The batch of round t* was still chosen by a retrained model. A run that never fired ends with t*.

    >>> before_after([[1.0, 1.0, 0.25, None], [1.0, 0.5, 0.25, None]], [2, 1])
    ([1.0, 1.0, 1.0], [0.25, 0.5, 0.25])
    """
    parts: tuple[list[Value], list[Value]] = ([], [])
    for values, t_star in zip(runs, t_stars, strict=True):
        for round, value in enumerate(values, start=1):
            if value is not None:
                parts[round > t_star].append(value)
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
    runs = acquiring_runs(results.folder)
    runs = runs[runs["cell"].map(lambda cell: is_there(results.folder, cell)).astype(bool)]
    names = task_names(runs["task"].unique())
    labels, pools = _labels_and_pools(results.folder, runs)

    def lines(members: pd.DataFrame) -> Iterator[Row]:
        for _, method, mine in by_method(members, (RETRAIN,)):
            for task in map(str, mine["task"].unique()):
                own = mine[mine["task"] == task]
                pool, known = pools[task_key(own["cell"].iloc[0].settings)], labels[task]
                acquired = [[record.acquired for record in history] for history in own["history"]]
                batches = before_after(acquired, own["t_star"])
                ids = [[id for batch in part for id in batch if id in known] for part in batches]
                usual = [n / max(1, sum(pool.values())) for n in pool.values()]
                parts = [*(class_shares(part, known, list(pool)) for part in ids), usual]
                for at, name in enumerate(pool):
                    numbers = [one(100 * part[at] if part else None, fixed(1)) for part in parts]
                    yield (Entry(method), Entry(names[task]), Entry(name), *numbers)

    columns = [*map(Column, ("Method", "Task", "Class")), *(Column(title, ONE) for title in (BEFORE, AFTER, "Pool"))]
    caption = "Classes of acquired batches in percent, all seeds together, compared with the whole pool."
    return sectioned("batch-classes", caption, columns, runs, lines)


def _labels_and_pools(
    folder: StudyFolder, runs: pd.DataFrame
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, int]]]:
    """Return the acquired labels by task, and the pool's classes by task key; the texts are not kept in memory."""
    labels: dict[str, dict[str, str]] = {}
    pools: dict[str, dict[str, int]] = {}
    keys = pd.Series([task_key(cell.settings) for cell in runs["cell"]], runs.index, dtype=str)
    for key in keys.unique():
        own = runs[keys == key]
        task = folder.task(own["cell"].iloc[0])
        counts = [int(np.count_nonzero(task.train.labels == label)) for label in range(len(task.classes))]
        pools[key] = dict(zip(task.classes, counts, strict=True))
        acquired = {id for history in own["history"] for record in history for id in record.acquired}
        labels.setdefault(own["task"].iloc[0], {}).update(task.answers(sorted(acquired)))
    return labels, pools
