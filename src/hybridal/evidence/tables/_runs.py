"""The runs of a study as plain rows, and the ways in which tables take them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hybridal.errors import UserError
from hybridal.evidence.results import FACTORS, Results
from hybridal.evidence.tables._schedules import schedule_of
from hybridal.schedules.hybrid import HybridAL

if TYPE_CHECKING:
    import pandas as pd

Run = dict[str, Any]
CELL = ("task", "backbone", "acquisition", "variant", "seed")
RETRAIN, FINETUNE = "retrain", "finetune"


def runs_of(results: Results) -> list[Run]:
    """One row a run, None where a number is missing; `f1`, `nll` and `ece` are of `split_of` the study.

    Seconds that were not taken are missing, not zero. `fired` is 1 or 0 for runs that had a signal to fire.
    """
    rows = plain(results.runs)
    seen: set[tuple[Any, ...]] = set()
    split = split_of(rows)
    hybrid = {spec: isinstance(schedule_of(spec), HybridAL) for spec in distinct(rows, "schedule")}
    for row in rows:
        key = tuple(row[name] for name in FACTORS)
        if key in seen:
            raise UserError(f"Two runs of this study are both called {key}; give their tasks different names.")
        seen.add(key)
        for name in ("f1", "nll", "ece", "nll_scaled", "ece_scaled"):
            row[name] = row[f"{split}_{name}"]
        for name in ("training_time", "seconds"):
            row[name] = row[name] or None
        row["epochs_a_round"] = row["epochs"] / row["rounds"]
        row["fired"] = float(row["t_star"] is not None) if hybrid[row["schedule"]] else None
    return rows


def plain(frame: pd.DataFrame) -> list[Run]:
    """The rows of a frame, None where a value is missing."""
    return [{str(name): _known(value) for name, value in row.items()} for row in frame.to_dict("records")]


def split_of(rows: Sequence[Run]) -> str:
    """Where runs are measured: on test, unless none of them was."""
    return "test" if any(row["test_f1"] is not None for row in rows) else "validation"


def distinct(rows: Iterable[Run], name: str) -> list[Any]:
    """The values of a factor in the order of the study.

    >>> distinct([{"seed": 43}, {"seed": 42}, {"seed": 43}], "seed")
    [43, 42]
    """
    return list(dict.fromkeys(row[name] for row in rows))


def those(rows: Iterable[Run], **factors: Any) -> list[Run]:
    """The rows that have these values.

    >>> those([{"seed": 42, "f1": 0.5}, {"seed": 43, "f1": 0.6}], seed=43)
    [{'seed': 43, 'f1': 0.6}]
    """
    return [row for row in rows if all(row[name] == value for name, value in factors.items())]


def values(rows: Iterable[Run], column: str) -> list[float]:
    """The numbers of a column, without the missing ones."""
    return [row[column] for row in rows if row[column] is not None]


def cell_of(row: Run) -> tuple[Any, ...]:
    """What two runs share that may be compared pair by pair."""
    return tuple(row[name] for name in CELL)


def paired(new: Iterable[Run], reference: Iterable[Run], column: str) -> tuple[list[float], list[float]]:
    """The numbers of both, side by side, for the cells in which both have one.

    >>> cell = {"task": "a", "backbone": "b", "acquisition": "c", "variant": "", "f1": 0.5}
    >>> paired([{**cell, "seed": 1}, {**cell, "seed": 2}], [{**cell, "seed": 2, "f1": 0.6}], "f1")
    ([0.5], [0.6])
    """
    known = {cell_of(row): row[column] for row in reference if row[column] is not None}
    pairs = [(row[column], known[cell_of(row)]) for row in new if row[column] is not None and cell_of(row) in known]
    return [one for one, _ in pairs], [other for _, other in pairs]


def hybrids(rows: Iterable[Run]) -> dict[str, HybridAL]:
    """The schedules with a signal, by their specs."""
    made = {spec: schedule_of(spec) for spec in distinct(rows, "schedule")}
    return {spec: schedule for spec, schedule in made.items() if isinstance(schedule, HybridAL)}


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
