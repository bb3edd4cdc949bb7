"""How far is a switch from the best one (the offline optimum of the paper's Problem 1), and which points are beaten?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hybridal.errors import UserError
from hybridal.evidence.results import CELL, Run
from hybridal.evidence.statistics.numbers import Numbers, exact, not_negative, number, numbers, positive

if TYPE_CHECKING:
    import pandas as pd

LAMBDA, DELTA = 0.5, 0.01


@dataclass(frozen=True)
class Outcome:
    """Where a run ended: its whole cost (seconds or counted steps), and NLL and F1 of its last model."""

    cost: float
    nll: float
    f1: float


@dataclass(frozen=True)
class Optimum:
    """The best switch round: fine-tuning from round `switch` on; T + 1 is RETRAIN.

    `objectives` has the value of each switch round from 1 on. `feasible` are the rounds whose F1 reaches `least_f1`,
    and `ties` all that are equally good: the cheapest of them is taken, then the earliest. Where no round is feasible,
    `switch` and `objective` are None and `note` says so.
    """

    switch: int | None
    objective: float | None
    ties: tuple[int, ...]
    feasible: tuple[int, ...]
    objectives: tuple[float, ...]
    least_f1: float
    note: str = ""


@dataclass(frozen=True)
class Regret:
    """A switch against the optimum. Where `feasible` is False the schedule misses the constraint by `shortfall` of F1,
    and its regret, which may then be negative, must not be averaged with others. `rounds_off` counts from the nearest
    optimum, below 0 for a switch that came too early. None where there is no optimum.
    """

    switch: int
    objective: float
    regret: float | None
    feasible: bool
    shortfall: float
    rounds_off: int | None


def optimum(
    outcomes: Sequence[Outcome],
    lam: float = LAMBDA,
    delta: float = DELTA,
    relative_nll: bool = False,
    least_f1: float | None = None,
) -> Optimum:
    """Minimises cost / RETRAIN's cost + λ·NLL over all switch rounds whose F1 ≥ max(RETRAIN's, FINETUNE's) − δ.

    `outcomes[s - 1]` belongs to fine-tuning from round s on: the first is pure FINETUNE, the last pure RETRAIN. The
    paper gives its terms no unit; with `relative_nll` NLL is divided by RETRAIN's as well, so that regrets of
    different tasks may be averaged. The better of the two pure strategies always meets the constraint; only another
    bound, `least_f1`, can be out of reach.

    >>> outcomes = [Outcome(60, 0.7, 0.80), Outcome(70, 0.6, 0.82), Outcome(85, 0.5, 0.83), Outcome(100, 0.4, 0.83)]
    >>> best = optimum(outcomes, lam=1.0, delta=0.01)
    >>> best.switch, round(best.objective, 4), best.feasible, round(best.least_f1, 4)
    (2, 1.3, (2, 3, 4), 0.82)
    >>> optimum(outcomes, least_f1=0.9).note
    'no switch round reaches F1 0.9; the best, round 4, has 0.83'
    """
    not_negative(lam, "λ")
    not_negative(delta, "δ")
    _check(outcomes)
    finetune, retrain = outcomes[0], outcomes[-1]
    bound = max(exact(finetune.f1), exact(retrain.f1)) - exact(delta)
    if least_f1 is not None:
        bound = exact(number(least_f1, "the least F1"))
    # Who keeps the bound and who misses it by how much is told by one number, the one that we give.
    bound = exact(float(bound))
    unit = exact(positive(retrain.nll, "RETRAIN's NLL")) if relative_nll else 1
    values = [exact(one.cost) / exact(retrain.cost) + exact(lam) * exact(one.nll) / unit for one in outcomes]
    rounds = range(1, len(outcomes) + 1)
    feasible = tuple(s for s in rounds if exact(outcomes[s - 1].f1) >= bound)
    objectives = tuple(float(value) for value in values)
    if not feasible:
        best = max(rounds, key=lambda s: (outcomes[s - 1].f1, s))
        note = f"no switch round reaches F1 {float(bound):g}; the best, round {best}, has {outcomes[best - 1].f1:g}"
        return Optimum(None, None, (), (), objectives, float(bound), note)
    least = min(values[s - 1] for s in feasible)
    ties = tuple(s for s in feasible if values[s - 1] == least)
    switch = min(ties, key=lambda s: (outcomes[s - 1].cost, s))
    return Optimum(switch, float(least), ties, feasible, objectives, float(bound))


def regret(outcomes: Sequence[Outcome], switch: int, best: Optimum) -> Regret:
    """What switching at this round costs above the optimum of the same outcomes; a run with t* switches at t* + 1.

    >>> outcomes = [Outcome(60, 0.7, 0.80), Outcome(70, 0.6, 0.82), Outcome(85, 0.5, 0.83), Outcome(100, 0.4, 0.83)]
    >>> found = regret(outcomes, 4, optimum(outcomes, lam=1.0))
    >>> round(found.regret, 4), found.feasible, found.rounds_off
    (0.1, True, 2)
    """
    _check(outcomes)
    if not 1 <= switch <= len(outcomes) or len(best.objectives) != len(outcomes):
        raise UserError(f"The switch round must lie in 1 to {len(outcomes)}, and the optimum be of the same outcomes.")
    objective = best.objectives[switch - 1]
    feasible = switch in best.feasible
    return Regret(
        switch=switch,
        objective=objective,
        regret=None if best.objective is None else objective - best.objective,
        feasible=feasible,
        shortfall=0.0 if feasible else best.least_f1 - outcomes[switch - 1].f1,
        rounds_off=min((switch - tie for tie in best.ties), key=abs, default=None),
    )


def _check(outcomes: Sequence[Outcome]) -> None:
    if len(outcomes) < 2:
        raise UserError("An optimum needs the outcome of every switch round from 1 to T + 1: two at the least.")
    for s, one in enumerate(outcomes, start=1):
        positive(one.cost, f"the cost of switch round {s}")
        not_negative(one.nll, f"the NLL of switch round {s}")
        number(one.f1, f"the F1 of switch round {s}")


def switch_round(word: str) -> float:
    """The first fine-tuned round of a word that retrains and then fine-tunes; not a number for other words.

    >>> switch_round("RRFF"), switch_round("FF"), switch_round("RR"), switch_round("NN")
    (3.0, 1.0, 3.0, nan)
    """
    return word.count("R") + 1.0 if re.fullmatch("R*F*", word) else np.nan


def regrets(runs: pd.DataFrame, cost: str) -> list[Run]:
    """Of each cell that has tried every switch round: a row for each of them, whose `schedule` is empty, and a row for
    each schedule that made one of them, both with the `regret` and the `best` switch round of the cell.

    `cost` is a column of the runs. The word decides: whatever schedule came to a switch round, its outcome is the same.
    """
    ends = {name: runs[f"test_{name}"].fillna(runs[f"validation_{name}"]).astype(float) for name in ("nll", "f1")}
    known = runs.assign(switch=[switch_round(word) for word in runs["word"]], **ends)
    known = known[known[cost] > 0].dropna(subset=["switch", *ends])
    rows = []
    for cell, own in known.groupby(CELL, sort=False):
        tried = own.drop_duplicates("switch").sort_values("switch")
        if len(tried) < int(own["rounds"].max()) + 1:
            continue
        outcomes = [Outcome(*one) for one in tried[[cost, "nll", "f1"]].to_numpy(float).tolist()]
        best = optimum(outcomes, relative_nll=True)
        chosen = [("", switch) for switch in range(1, len(outcomes) + 1)]
        chosen += [(str(spec), int(s)) for spec, s in zip(own["schedule"], own["switch"], strict=True)]
        for spec, switch in chosen:
            found = {"schedule": spec, "regret": regret(outcomes, switch, best), "best": best.switch}
            rows.append({**dict(zip(CELL, cell, strict=True)), **found})
    return rows


def pareto(cost: Numbers, nll: Numbers) -> tuple[int, ...]:
    """The positions of the points that no other dominates in cost and NLL, both the lower the better; cheapest first.

    A point dominates another when it is no worse in both and better in one; equal points stand or fall together.

    >>> pareto([3, 1, 2, 2, 1], [1, 5, 2, 4, 5])
    (1, 4, 2, 0)
    """
    costs, losses = numbers(cost, "cost"), numbers(nll, "NLL")
    if costs.size != losses.size:
        raise UserError(f"There are {costs.size} costs and {losses.size} NLLs; every point needs both.")
    front: list[int] = []
    for at in np.lexsort((losses, costs)).tolist():  # by cost, then NLL, then position
        # Of all that come before, the last in the front has the lowest NLL, and none costs more than this one.
        equal = bool(front) and costs[front[-1]] == costs[at] and losses[front[-1]] == losses[at]
        if not front or equal or losses[at] < losses[front[-1]]:
            front.append(at)
    return tuple(front)
