"""Which ε and k a tuning study speaks for, signal by signal."""

from __future__ import annotations

from typing import Literal

from hybridal.errors import UserError
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.tuning import Selection, Setting, select
from hybridal.schedules import make_schedule
from hybridal.schedules.hybrid import HybridAL

CostName = Literal["steps", "seconds"]
_COLUMNS = {"steps": "steps", "seconds": "training_time"}

Pair = tuple[float, int]


def tune(results: Results, lam: float = 0.5, cost: CostName = "steps") -> dict[str, Selection[Pair]]:
    """The paper's two-stage rule for each signal that the study has several (ε, k) of.

    Means are over all cells; cost is counted steps, true on any machine, or seconds of training.
    """
    if cost not in _COLUMNS:
        raise UserError(f"--cost must be one of {', '.join(_COLUMNS)}, not '{cost}'.")
    grids: dict[str, list[Setting[Pair]]] = {}
    if len(results.runs):
        columns = ["validation_f1", "validation_nll", _COLUMNS[cost]]
        for spec, means in results.runs.groupby("schedule", sort=False)[columns].mean().iterrows():
            schedule = make_schedule(str(spec))
            if isinstance(schedule, HybridAL):
                f1, nll, taken = (float(means[name]) for name in columns)
                point = Setting((schedule.epsilon, schedule.patience), f1, nll, taken)
                grids.setdefault(schedule.signal.name, []).append(point)
    several = {signal: grid for signal, grid in grids.items() if len(grid) > 1}
    if not several:
        raise UserError("There is nothing to tune: the study has no signal with several complete (ε, k) pairs.")
    return {signal: select(grid, lam) for signal, grid in several.items()}
