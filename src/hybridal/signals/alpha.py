"""The change of the spectral exponent of the weights, fitted over the whole spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.core.outputs import Floats
from hybridal.signals import ModelView, Signal, Snapshot
from hybridal.signals._spectrum import spectra


def rank_exponent(values: Floats) -> float:
    """Minus the least-squares slope of log singular value on log rank, over the whole spectrum.

    >>> round(rank_exponent(np.array([8.0, 2.0, 8 / 9, 0.5])), 12)  # 8 / rank²
    2.0
    """
    ranks = np.log(np.arange(1, values.size + 1))
    centred = ranks - ranks.mean()
    return float(-(centred @ np.log(values)) / (centred @ centred))


@dataclass(frozen=True)
class Alpha(Signal):
    """The absolute change of the mean rank exponent of the linear layers' singular values.

    This is the spectral α of the published code, to which the tuned ε = 1e-4 belongs. The exponent described in the
    paper's text is `alpha-tail`.

    >>> Alpha().change({"exponents": np.array([0.25, 0.75])}, {"exponents": np.array([0.5, 1.0])})
    0.25
    """

    name: ClassVar[str] = "alpha"
    title: ClassVar[str] = "Δα"
    settled: ClassVar[str] = "the spectral exponent of the weights (α) {has}changed by less than {size}"
    looks_at: ClassVar[str] = "weights"
    epsilon: ClassVar[float] = 1e-4
    patience: ClassVar[int] = 3

    def snapshot(self, model: ModelView) -> Snapshot:
        return {"exponents": np.array([rank_exponent(values) for values in spectra(model.matrices(), self.name)])}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return abs(float(now["exponents"].mean()) - float(before["exponents"].mean()))
