"""The change of the power-law exponent in the tail of the weights' spectra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.core.outputs import Floats, Ints
from hybridal.signals import ModelView, Signal, Snapshot
from hybridal.signals._spectrum import spectra

# A lower bound of the distance uses every STRIDE-th value and all of the LARGEST, because short tails have no others.
STRIDE, LARGEST = 16, 64


@dataclass(frozen=True)
class Tail:
    """A power law p(x) ~ x^-exponent fitted to the values from `start` up, and its Kolmogorov-Smirnov distance."""

    exponent: float
    start: float
    distance: float


def fit_tail(eigenvalues: Floats) -> Tail:
    """Fit a power law to the tail of a spectrum by the method of Clauset, Shalizi and Newman.

    Each value is tried as the start of the tail, with the maximum-likelihood exponent; the start with the smallest
    Kolmogorov-Smirnov distance is kept.

    >>> tail = fit_tail((1 - np.arange(1000) / 1000) ** -0.5)  # the quantiles of x^-3 from 1 up
    >>> round(tail.exponent, 1), tail.start, tail.distance < 0.01
    (3.0, 1.0, True)
    """
    logs = np.sort(np.log(eigenvalues.astype(np.float64)))
    sizes = logs.size - np.arange(logs.size - 1)
    excess = np.cumsum(logs[::-1])[:0:-1] - sizes * logs[:-1]
    starts = np.flatnonzero((logs[:-1] < logs[-1]) & (excess > 0))  # equal values have no spread to fit
    exponents = 1 + sizes[starts] / excess[starts]
    # The distance over a subset of the points is a lower bound, which rules most starts out.
    some = np.union1d(np.arange(0, logs.size, STRIDE), np.arange(logs.size)[-LARGEST:])
    lower_bounds = _distances(logs, starts[:, None], exponents[:, None], some)
    best = Tail(float("nan"), float("nan"), float("inf"))
    for one in np.argsort(lower_bounds, kind="stable"):
        if lower_bounds[one] > best.distance:
            break
        start, exponent = starts[one : one + 1], exponents[one : one + 1]
        distance = float(_distances(logs, start, exponent, np.arange(start[0], logs.size)))
        if distance < best.distance:
            best = Tail(float(exponent[0]), float(np.exp(logs[start[0]])), distance)
    return best


def _distances(logs: Floats, starts: Ints, exponents: Floats, points: Ints) -> Floats:
    """The maximum distance between each start's power law and its tail over these points."""
    fitted = -np.expm1((1 - exponents) * np.maximum(logs[points] - logs[starts], 0.0))
    observed = (points - starts) / (logs.size - starts)
    return np.asarray(np.where(points >= starts, np.abs(fitted - observed), 0.0).max(axis=-1))


@dataclass(frozen=True)
class AlphaTail(Signal):
    """The absolute change of the mean tail exponent of the linear layers' eigenvalue spectra.

    This is the spectral α of the paper's text: the eigenvalues are those of each layer's Gram matrix, the fit is
    WeightWatcher's. The snapshot also keeps the Kolmogorov-Smirnov distance of each fit.

    The start of a tail jumps between starts that fit almost equally well, so this signal moves a thousand times further
    than `alpha` and less smoothly. Its ε follows the rule of the signal ablation, half the largest change of rounds 2
    to 5, which was 0.22 (SST-2) and 0.14 (TREC) for MiniLM retrained on 200 labels and 32 more each round.

    >>> before = {"exponents": np.array([3.0, 4.0]), "distances": np.array([0.02, 0.03])}
    >>> AlphaTail().change(before, {"exponents": np.array([3.5, 4.0]), "distances": np.array([0.02, 0.03])})
    0.25
    """

    name: ClassVar[str] = "alpha-tail"
    title: ClassVar[str] = "Δα tail"
    settled: ClassVar[str] = "the tail exponent of the weights' spectra {has}changed by less than {size}"
    looks_at: ClassVar[str] = "weights"
    epsilon: ClassVar[float] = 0.1
    patience: ClassVar[int] = 3

    def snapshot(self, model: ModelView) -> Snapshot:
        tails = [fit_tail(values**2) for values in spectra(model.matrices(), self.name)]
        return {
            "exponents": np.array([tail.exponent for tail in tails]),
            "distances": np.array([tail.distance for tail in tails]),
        }

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return abs(float(now["exponents"].mean()) - float(before["exponents"].mean()))
