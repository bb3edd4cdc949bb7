"""Regret of a switch against the best one (the offline optimum of the paper's Problem 1), and Pareto frontiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from hybridal.lab.statistics.numbers import exact
from hybridal.lab.study.study_results import CELL

if TYPE_CHECKING:
    import pandas as pd

LAMBDA, DELTA = 0.5, 0.01


@dataclass(frozen=True)
class Outcome:
    """The result of a run: its total cost (seconds or counted steps), and NLL and F1 of its last model."""

    cost: float
    nll: float
    f1: float


@dataclass(frozen=True)
class Optimum:
    """The best switch round: fine-tuning from round `switch` on; T + 1 is RETRAIN.

    `objectives` has the value of each switch round from 1 on. `feasible` are the rounds whose F1 reaches `least_f1`,
    and `ties` all that are equally good: the cheapest of them is taken, then the earliest.
    """

    switch: int
    ties: tuple[int, ...]
    feasible: tuple[int, ...]
    objectives: tuple[float, ...]
    least_f1: float


@dataclass(frozen=True)
class Regret:
    """A switch compared with the optimum.

    If `feasible` is False, the schedule misses the F1 constraint by `shortfall`; its regret may then be negative and
    must not be averaged with others. `rounds_off` counts from the nearest optimum, below 0 for a switch that came too
    early.
    """

    switch: int
    regret: float
    feasible: bool
    shortfall: float
    rounds_off: int


def optimum(outcomes: Sequence[Outcome], lam: float = LAMBDA, delta: float = DELTA) -> Optimum:
    """Minimise cost / RETRAIN's + λ · NLL / RETRAIN's over all rounds whose F1 ≥ max(RETRAIN's, FINETUNE's) − δ.

    `outcomes[s - 1]` belongs to fine-tuning from round s on: the first is pure FINETUNE, the last pure RETRAIN. The
    paper gives its terms no unit; relative to RETRAIN's, regrets of different tasks may be averaged.

    >>> outcomes = [Outcome(60, 1.4, 0.80), Outcome(70, 1.2, 0.82), Outcome(85, 1.0, 0.83), Outcome(100, 0.8, 0.83)]
    >>> best = optimum(outcomes)
    >>> best.switch, best.objectives[1], best.feasible, best.least_f1
    (2, 1.45, (2, 3, 4), 0.82)
    """
    finetune, retrain = outcomes[0], outcomes[-1]
    # One rounded number decides which rounds keep the bound and by how much others miss it, so the two agree.
    bound = exact(float(max(exact(finetune.f1), exact(retrain.f1)) - exact(delta)))
    cost, nll, weight = exact(retrain.cost), exact(retrain.nll), exact(lam)
    values = [exact(one.cost) / cost + weight * exact(one.nll) / nll for one in outcomes]
    feasible = tuple(s for s, one in enumerate(outcomes, start=1) if exact(one.f1) >= bound)
    least = min(values[s - 1] for s in feasible)
    ties = tuple(s for s in feasible if values[s - 1] == least)
    switch = min(ties, key=lambda s: (outcomes[s - 1].cost, s))
    return Optimum(switch, ties, feasible, tuple(map(float, values)), float(bound))


def regret(outcomes: Sequence[Outcome], switch: int, best: Optimum) -> Regret:
    """Return the regret of switching at this round against the optimum of the same outcomes; t* switches at t* + 1.

    >>> outcomes = [Outcome(60, 1.4, 0.80), Outcome(70, 1.2, 0.82), Outcome(85, 1.0, 0.83), Outcome(100, 0.8, 0.83)]
    >>> found = regret(outcomes, 1, optimum(outcomes))
    >>> round(found.regret, 4), found.feasible, round(found.shortfall, 4), found.rounds_off
    (0.025, False, 0.02, -1)
    """
    feasible = switch in best.feasible
    return Regret(
        switch=switch,
        regret=best.objectives[switch - 1] - best.objectives[best.switch - 1],
        feasible=feasible,
        shortfall=0.0 if feasible else best.least_f1 - outcomes[switch - 1].f1,
        rounds_off=min((switch - tie for tie in best.ties), key=abs),
    )


def switch_round(sequence: str) -> float:
    """Return the first fine-tuned round of an update sequence that retrains, then fine-tunes; NaN for others.

    >>> switch_round("RRFF"), switch_round("FF"), switch_round("RR"), switch_round("NN")
    (3.0, 1.0, 3.0, nan)
    """
    return sequence.count("R") + 1.0 if re.fullmatch("R*F*", sequence) else np.nan


def regrets(runs: pd.DataFrame, cost: str) -> pd.DataFrame:
    """Return the regret of every switch round and every schedule, for cells that have every switch round.

    Columns are the cell, `schedule`, the fields of `Regret`, and the cell's `best` switch round; the `schedule` of a
    switch round is empty. `cost` is a column of the runs. Schedules with the same switch round have the same outcome.
    """
    import pandas as pd

    ends = {name: runs[f"test_{name}"].fillna(runs[f"validation_{name}"]).astype(float) for name in ("nll", "f1")}
    known = runs.assign(switch=[switch_round(sequence) for sequence in runs["update_sequence"]], **ends)
    known = known[(known[cost] > 0) & (known["nll"] > 0)].dropna(subset=["switch", *ends])
    rows = []
    for cell, own in known.groupby(CELL, sort=False):
        tried = own.drop_duplicates("switch").sort_values("switch")
        if len(tried) < int(own["rounds"].max()) + 1:
            continue
        outcomes = [Outcome(*one) for one in tried[[cost, "nll", "f1"]].to_numpy(float).tolist()]
        best = optimum(outcomes)
        chosen = [("", switch) for switch in range(1, len(outcomes) + 1)]
        chosen += [(str(spec), int(s)) for spec, s in zip(own["schedule"], own["switch"], strict=True)]
        for spec, switch in chosen:
            rows.append((*cell, spec, *asdict(regret(outcomes, switch, best)).values(), best.switch))
    names = [field.name for field in fields(Regret)]
    return pd.DataFrame(rows, columns=[*CELL, "schedule", *names, "best"])


def pareto(cost: Sequence[float], nll: Sequence[float]) -> tuple[int, ...]:
    """Return the positions of the points that no other dominates in cost and NLL (lower is better), cheapest first.

    A point dominates another if it is no worse in both and better in one; equal points are kept or dropped together.

    >>> pareto([3, 1, 2, 2, 1], [1, 5, 2, 4, 5])
    (1, 4, 2, 0)
    """
    front: list[int] = []
    for at in np.lexsort((nll, cost)).tolist():  # by cost, then NLL, then position
        # All earlier points cost no more than this one, and the last one in the front has the lowest NLL of them.
        equal = bool(front) and (cost[front[-1]], nll[front[-1]]) == (cost[at], nll[at])
        if not front or equal or nll[at] < nll[front[-1]]:
            front.append(at)
    return tuple(front)
