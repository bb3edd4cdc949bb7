"""How sure is a number, when whole cells are drawn again and their seeds stay together? How far do seeds spread?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import Array, Numbers, inside, numbers
from hybridal.randomness import stream

Statistic = Callable[[Array], float]
Method = Literal["percentile", "bca"]


@dataclass(frozen=True)
class Bootstrap:
    """The statistic of all seeds of all cells, its bootstrap interval and standard error; None where there is none."""

    cells: int
    values: int
    estimate: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    note: str = ""


def mean(values: Array) -> float:
    """The usual statistic: every seed counts once."""
    return float(values.mean())


def bootstrap(
    cells: Sequence[Numbers],
    statistic: Statistic = mean,
    method: Method = "bca",
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Bootstrap:
    """The interval of a statistic over cells, each of which is the numbers of its seeds (of paired differences, say).

    Seeds of one cell resemble each other, so what is drawn again, with replacement, is the cell. `percentile` reads the
    interval off the resamples; `bca` also corrects for bias and skew, and is the one to use from some ten cells on.

    >>> cells = [[0.012, 0.008], [-0.004, 0.001], [0.003, 0.006], [0.010, 0.015], [-0.002, 0.002]]
    >>> found = bootstrap(cells, resamples=2000, seed=42)
    >>> round(found.estimate, 4), found.low < 0.0051 < found.high, found == bootstrap(cells, resamples=2000, seed=42)
    (0.0051, True, True)
    """
    inside(confidence, "confidence")
    if resamples < 1:
        raise UserError(f"resamples must be at least 1, not {resamples}.")
    if method not in ("percentile", "bca"):
        raise UserError(f"The method must be percentile or bca, not {method!r}.")
    groups = [numbers(values, f"cell {at}") for at, values in enumerate(cells, start=1)]
    for at, group in enumerate(groups, start=1):
        if not group.size:
            raise UserError(f"cell {at} has no numbers; leave the cell out.")
    estimate = _value(statistic, groups) if groups else None
    found = Bootstrap(len(groups), sum(group.size for group in groups), estimate)
    if len(groups) < 2:
        return replace(found, note="one cell says nothing about other cells" if groups else "there are no cells")
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a degenerate interval means is said below
        drawn = stats.bootstrap(
            (np.arange(len(groups)),),
            _of_draws(groups, statistic),
            n_resamples=resamples,
            method="BCa" if method == "bca" else "percentile",
            confidence_level=confidence,
            vectorized=True,
            rng=stream(seed, "bootstrap"),
        )
    values = drawn.bootstrap_distribution
    if np.ptp(values) <= 1e-14 * np.abs(values).max():
        return replace(found, note="the statistic is the same in all resamples")
    low, high, error = (float(one) for one in (*drawn.confidence_interval, drawn.standard_error))
    if not np.isfinite([low, high]).all():
        return replace(found, error=error, note="the statistic is too biased or skewed for BCa")
    return replace(found, low=low, high=high, error=error)


def _value(statistic: Statistic, groups: Sequence[Array]) -> float:
    value = float(statistic(np.concatenate(groups)))
    if not np.isfinite(value):
        raise UserError(f"The statistic of some cells is {value}; a bootstrap needs one that is always a number.")
    return value


def _of_draws(groups: Sequence[Array], statistic: Statistic) -> Callable[..., Any]:
    """The statistic of each draw of cells; the mean, nearly always asked for, all at once from the cells' sums."""
    sums, sizes = np.array([group.sum() for group in groups]), np.array([group.size for group in groups])

    def values(draws: Any, axis: int = -1) -> Any:
        if statistic is mean:
            return sums[draws].sum(axis=axis) / sizes[draws].sum(axis=axis)
        return np.apply_along_axis(lambda draw: _value(statistic, [groups[at] for at in draw]), axis, draws)

    return values


@dataclass(frozen=True)
class SeedNoise:
    """The standard deviation from seed to seed over cells, the noise floor that a margin is anchored to.

    None where no cell has two seeds; `left_out` counts the cells with fewer than two: they have no spread.
    """

    cells: int
    left_out: int
    mean: float | None
    median: float | None
    largest: float | None


def seed_noise(cells: Sequence[Numbers]) -> SeedNoise:
    """Each cell's standard deviation over its seeds (ddof = 1), averaged; the paper's floor of F1 is 0.0131.

    >>> seed_noise([[0.25, 0.75, 0.5], [0.5, 0.5], [0.9]])
    SeedNoise(cells=2, left_out=1, mean=0.125, median=0.125, largest=0.25)
    """
    checked = [numbers(values, f"cell {at}") for at, values in enumerate(cells, start=1)]
    # Equal values have no spread at all, also where their mean was rounded.
    spreads = [0.0 if np.ptp(values) == 0 else float(values.std(ddof=1)) for values in checked if values.size > 1]
    left_out = len(checked) - len(spreads)
    if not spreads:
        return SeedNoise(0, left_out, None, None, None)
    return SeedNoise(len(spreads), left_out, float(np.mean(spreads)), float(np.median(spreads)), max(spreads))
