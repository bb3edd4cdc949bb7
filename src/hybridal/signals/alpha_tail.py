"""How much the shape of the weights' spectra changed: the power law in their tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.core.outputs import Floats, Ints
from hybridal.signals import ModelView, Signal, Snapshot
from hybridal.signals._spectrum import spectra

# A first look at a start takes one value of so many, and all of the largest: short tails have no others.
SPARSE, LARGEST = 16, 64


@dataclass(frozen=True)
class Tail:
    """A power law p(x) ~ x^-exponent fitted to what lies from `start` up, and its Kolmogorov-Smirnov distance."""

    exponent: float
    start: float
    distance: float


def fit_tail(eigenvalues: Floats) -> Tail:
    """The power law of a spectrum's tail as Clauset, Shalizi and Newman fit it.

    Each value in turn is tried as the tail's start; the exponent is then the likeliest one, and the
    start whose tail is nearest to its power law is kept.

    >>> tail = fit_tail((1 - np.arange(1000) / 1000) ** -0.5)  # the quantiles of x^-3 from 1 up
    >>> round(tail.exponent, 1), tail.start, tail.distance < 0.01
    (3.0, 1.0, True)
    """
    logs = np.sort(np.log(eigenvalues.astype(np.float64)))
    sizes = logs.size - np.arange(logs.size - 1)
    excess = np.cumsum(logs[::-1])[:0:-1] - sizes * logs[:-1]
    starts = np.flatnonzero((logs[:-1] < logs[-1]) & (excess > 0))  # equal values have no spread to fit
    exponents = 1 + sizes[starts] / excess[starts]
    # The distance at some of the points is the least that it can be: most starts need no closer look.
    some = np.union1d(np.arange(0, logs.size, SPARSE), np.arange(logs.size)[-LARGEST:])
    least = _distances(logs, starts[:, None], exponents[:, None], some)
    best = Tail(float("nan"), float("nan"), float("inf"))
    for one in np.argsort(least, kind="stable"):
        if least[one] > best.distance:
            break
        start, exponent = starts[one : one + 1], exponents[one : one + 1]
        distance = float(_distances(logs, start, exponent, np.arange(start[0], logs.size)))
        if distance < best.distance:
            best = Tail(float(exponent[0]), float(np.exp(logs[start[0]])), distance)
    return best


def _distances(logs: Floats, starts: Ints, exponents: Floats, points: Ints) -> Floats:
    """How far each start's power law is from its tail, at most, over these points."""
    fitted = -np.expm1((1 - exponents) * np.maximum(logs[points] - logs[starts], 0.0))
    observed = (points - starts) / (logs.size - starts)
    return np.asarray(np.where(points >= starts, np.abs(fitted - observed), 0.0).max(axis=-1))


@dataclass(frozen=True)
class AlphaTail(Signal):
    """The absolute change of the mean tail exponent of the linear layers' eigenvalue spectra.

    This is the spectral α of the paper's text: the eigenvalues are those of each layer's Gram matrix, the fit is
    WeightWatcher's. The snapshot keeps each fit's Kolmogorov-Smirnov distance beside its exponent.

    The start of a tail jumps where two are nearly as good, so this moves a thousand times further than `alpha`
    and less smoothly. Its ε follows the rule of the signal ablation, half the largest change of rounds 2 to 5, which
    was 0.22 (SST-2) and 0.14 (TREC) for MiniLM retrained on 200 labels and 32 more each round.

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
