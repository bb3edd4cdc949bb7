"""Which (ε, k)? The paper's two-stage rule, and for which weights λ its answer holds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import exact, inside, not_negative, number, positive

if TYPE_CHECKING:
    from hybridal.evidence.results import Results

Name = TypeVar("Name", bound=Hashable)
Pair = tuple[float, int]
CostName = Literal["steps", "seconds"]
_COLUMNS = {"steps": "steps", "seconds": "training_time"}


@dataclass(frozen=True)
class Setting(Generic[Name]):
    """One point of a tuning grid, named (ε, k) say: mean validation F1 and NLL, and cost in seconds or in steps."""

    name: Name
    f1: float
    nll: float
    cost: float


@dataclass(frozen=True)
class Selection(Generic[Name]):
    """What the rule chose. `scores` are of the `candidates`, `ties` all whose score is the lowest (the cheapest of them
    is chosen). The choice holds for every λ from `lam_low` to `lam_high`, both included; None is without end."""

    chosen: Name
    score: float
    ties: tuple[Name, ...]
    candidates: tuple[Name, ...]
    scores: tuple[float, ...]
    lam: float
    lam_low: float
    lam_high: float | None


@dataclass(frozen=True)
class _Point(Generic[Name]):
    """A candidate with both terms relative to the lowest of the candidates, as exact numbers."""

    name: Name
    cost: Fraction
    nll: Fraction

    def score(self, lam: Fraction) -> Fraction:
        return self.cost + lam * self.nll


def select(grid: Sequence[Setting[Name]], lam: float = 0.5, share: float = 0.995) -> Selection[Name]:
    """First keeps the settings with F1 ≥ share · the highest; then minimises cost / lowest cost + λ · NLL / lowest NLL.

    Numbers are taken as they print, so that rounding decides no tie.

    >>> grid = [Setting((1e-4, 2), 0.854, 0.492, 246.3), Setting((1e-4, 3), 0.865, 0.455, 284.8),
    ...         Setting((2e-4, 7), 0.861, 0.416, 302.3)]
    >>> found = select(grid)
    >>> found.chosen, [round(score, 3) for score in found.scores], (found.lam_low, round(found.lam_high, 3))
    ((0.0001, 3), [1.547, 1.561], (0.0, 0.655))
    """
    weight = exact(not_negative(lam, "λ"))
    points = _candidates(grid, share)
    least = min(point.score(weight) for point in points)
    ties = [point for point in points if point.score(weight) == least]
    chosen = min(ties, key=lambda point: (point.cost, point.nll))
    low, high = _range(chosen, points)
    return Selection(
        chosen=chosen.name,
        score=float(least),
        ties=tuple(point.name for point in ties),
        candidates=tuple(point.name for point in points),
        scores=tuple(float(point.score(weight)) for point in points),
        lam=lam,
        lam_low=float(low),
        lam_high=None if high is None else float(high),
    )


def _candidates(grid: Sequence[Setting[Name]], share: float) -> list[_Point[Name]]:
    if not grid:
        raise UserError("There are no settings to choose from.")
    if share != 1:
        inside(share, "the share of the highest F1")
    for one in grid:
        positive(one.cost, f"the cost of {one.name}")
        positive(one.nll, f"the NLL of {one.name}")
        not_negative(number(one.f1, f"the F1 of {one.name}"), f"the F1 of {one.name}")
    least_f1 = exact(share) * max(exact(one.f1) for one in grid)
    kept = [one for one in grid if exact(one.f1) >= least_f1]
    cost, nll = min(exact(one.cost) for one in kept), min(exact(one.nll) for one in kept)
    return [_Point(one.name, exact(one.cost) / cost, exact(one.nll) / nll) for one in kept]


def _range(chosen: _Point[Name], points: Sequence[_Point[Name]]) -> tuple[Fraction, Fraction | None]:
    """The λ at which a better calibrated point takes over, and the one at which a cheaper one gives way."""
    low = max(
        ((chosen.cost - other.cost) / (other.nll - chosen.nll) for other in points if other.nll > chosen.nll),
        default=Fraction(0),
    )
    high = min(
        ((other.cost - chosen.cost) / (chosen.nll - other.nll) for other in points if other.nll < chosen.nll),
        default=None,
    )
    return max(low, Fraction(0)), high


def tune(results: Results, lam: float = 0.5, cost: CostName = "steps") -> dict[str, Selection[Pair]]:
    """The rule's choice for each signal that the study has several (ε, k) of.

    Means are over all cells; cost is counted steps, true on any machine, or seconds of training.
    """
    from hybridal.evidence.select import hybrids, specs_of

    if cost not in _COLUMNS:
        raise UserError(f"--cost must be one of {', '.join(_COLUMNS)}, not '{cost}'.")
    grids: dict[str, list[Setting[Pair]]] = {}
    if len(results.runs):
        columns = ["validation_f1", "validation_nll", _COLUMNS[cost]]
        means = results.runs.groupby("schedule", sort=False)[columns].mean()
        for spec, schedule in hybrids(specs_of(results.runs)).items():
            f1, nll, taken = (float(means.loc[spec, name]) for name in columns)  # type: ignore[arg-type]
            point = Setting((schedule.epsilon, schedule.patience), f1, nll, taken)
            grids.setdefault(schedule.signal, []).append(point)
    several = {signal: grid for signal, grid in grids.items() if len(grid) > 1}
    if not several:
        raise UserError("There is nothing to tune: the study has no signal with several complete (ε, k) pairs.")
    return {signal: select(grid, lam) for signal, grid in several.items()}
