"""Choose (ε, k) by the paper's two-stage rule, with the range of weights λ for which the choice is the same."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from hybridal.errors import UserError
from hybridal.lab.statistics.numbers import exact
from hybridal.lab.study.study_results import CELL, COSTS, Cost, Results, rules

if TYPE_CHECKING:
    import pandas as pd

Name = TypeVar("Name", bound=Hashable)
Pair = tuple[float, int]
# Cost and NLL of a candidate, both relative to the lowest of the candidates.
Point = tuple[Fraction, Fraction]
QUALITY = ["validation_f1", "validation_nll"]


@dataclass(frozen=True)
class Setting(Generic[Name]):
    """One point of a tuning grid, named (ε, k) say: mean validation F1 and NLL, and cost in seconds or in steps."""

    name: Name
    f1: float
    nll: float
    cost: float


@dataclass(frozen=True)
class Tuned(Generic[Name]):
    """The rule's choice.

    `scores` belong to the `candidates`; `ties` have the lowest score, and the cheapest of them is chosen. The choice is
    the same for every λ from `lam_low` to `lam_high`, both included; None is unbounded.
    """

    chosen: Name
    score: float
    ties: tuple[Name, ...]
    candidates: tuple[Name, ...]
    scores: tuple[float, ...]
    lam: float
    lam_low: float
    lam_high: float | None


def select(grid: Sequence[Setting[Name]], lam: float = 0.5, share: float = 0.995) -> Tuned[Name]:
    """First keeps the settings with F1 ≥ share · the highest; then minimises cost / lowest cost + λ · NLL / lowest NLL.

    Numbers are taken as they print, so that rounding decides no tie.

    >>> grid = [Setting((1e-4, 2), 0.854, 0.492, 246.3), Setting((1e-4, 3), 0.865, 0.455, 284.8),
    ...         Setting((2e-4, 7), 0.861, 0.416, 302.3)]
    >>> found = select(grid)
    >>> found.chosen, [round(score, 3) for score in found.scores], (found.lam_low, round(found.lam_high, 3))
    ((0.0001, 3), [1.547, 1.561], (0.0, 0.655))
    """
    if not 0 <= lam < math.inf:
        raise UserError(f"λ must be 0 or more, not {lam}.")
    weight, points = exact(lam), _candidates(grid, share)
    scores = {name: cost + weight * nll for name, (cost, nll) in points.items()}
    ties = [name for name, score in scores.items() if score == min(scores.values())]
    chosen = min(ties, key=points.__getitem__)
    low, high = _range(points[chosen], points.values())
    return Tuned(
        chosen=chosen,
        score=float(scores[chosen]),
        ties=tuple(ties),
        candidates=tuple(points),
        scores=tuple(map(float, scores.values())),
        lam=lam,
        lam_low=float(low),
        lam_high=None if high is None else float(high),
    )


def _candidates(grid: Sequence[Setting[Name]], share: float) -> dict[Name, Point]:
    for one in grid:
        if not (one.f1 >= 0 and one.nll > 0 and 0 < one.cost < math.inf):
            raise UserError(f"F1, NLL or cost of {one.name} was not measured; choose by what was.")
    least_f1 = exact(share) * max(exact(one.f1) for one in grid)
    kept = [one for one in grid if exact(one.f1) >= least_f1]
    cost, nll = min(exact(one.cost) for one in kept), min(exact(one.nll) for one in kept)
    return {one.name: (exact(one.cost) / cost, exact(one.nll) / nll) for one in kept}


def _range(chosen: Point, points: Iterable[Point]) -> tuple[Fraction, Fraction | None]:
    """Return the range of λ with the same choice: beyond it a cheaper or a better calibrated point wins."""
    # Where the scores of two points are equal.
    meets = [(nll > chosen[1], (cost - chosen[0]) / (chosen[1] - nll)) for cost, nll in points if nll != chosen[1]]
    low = max((lam for calmer, lam in meets if calmer), default=Fraction(0))
    return max(low, Fraction(0)), min((lam for calmer, lam in meets if not calmer), default=None)


def grids(runs: pd.DataFrame, paired: bool = False) -> dict[str, pd.DataFrame]:
    """Return, by signal, one row per (ε, k): the means of `QUALITY` and `COSTS` over its `runs`.

    Paired, only runs of cells that all pairs of the signal have are counted, and no number of theirs may be missing.
    """
    found = {}
    own = rules(map(str, runs["schedule"].unique())) if len(runs) else {}
    for signal in dict.fromkeys(rule.signal.name for rule in own.values()):
        pairs = {spec: rule.detector for spec, rule in own.items() if rule.signal.name == signal}
        part = runs[runs["schedule"].isin(list(pairs))]
        if paired:
            part = part[part.groupby(CELL)["schedule"].transform("nunique") == len(pairs)]
        part = part.assign(
            epsilon=[pairs[spec].epsilon for spec in part["schedule"]],
            k=[pairs[spec].patience for spec in part["schedule"]],
        )
        columns = [*QUALITY, *COSTS.values()]
        groups = part.astype(dict.fromkeys(columns, float)).groupby(["epsilon", "k"], sort=False)
        means, runs_of = groups[columns].mean(), groups.size()
        whole = means.where(groups[columns].count().eq(runs_of, axis=0)) if paired else means
        found[signal] = whole.assign(runs=runs_of)
    return found


def choose(grid: pd.DataFrame, cost: str, lam: float = 0.5) -> Tuned[Pair]:
    """The rule's choice from one signal's grid, by the column of a cost."""
    rows = zip(grid.index.tolist(), grid[[*QUALITY, cost]].to_numpy(float).tolist(), strict=True)
    return select([Setting(pair, *row) for pair, row in rows], lam)


def tune(results: Results, lam: float = 0.5, cost: Cost = "steps") -> dict[str, Tuned[Pair]]:
    """The rule's choice for each signal that the study has several (ε, k) of.

    Means are over all cells; cost is counted steps, true on any machine, or seconds of training.
    """
    if cost not in COSTS:
        raise UserError(f"--cost must be one of {', '.join(COSTS)}, not '{cost}'.")
    several = {signal: grid for signal, grid in grids(results.runs).items() if len(grid) > 1}
    if not several:
        raise UserError("There is nothing to tune: the study has no signal with several complete (ε, k) pairs.")
    return {signal: choose(grid, COSTS[cost], lam) for signal, grid in several.items()}
