"""The change of the predicted probabilities of unlabelled texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.signals import ModelView, Signal, Snapshot


def jensen_shannon(one: Floats, other: Floats) -> NDArray[np.float64]:
    """The Jensen-Shannon divergence of each pair of distributions (the last axis), in nats: from 0 to log 2.

    >>> jensen_shannon(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]])).round(4).tolist()
    [0.6931, 0.0]
    """
    middle = (one + other) / 2

    def against(p: Floats) -> NDArray[np.float64]:
        # 0 log 0 = 0
        ratio = np.divide(p, middle, out=np.ones(p.shape), where=p > 0)
        found: NDArray[np.float64] = (p * np.log(ratio)).sum(axis=-1)
        return found

    return np.maximum(0.0, (against(one) + against(other)) / 2)


@dataclass(frozen=True)
class Divergence(Signal):
    """The mean Jensen-Shannon divergence between a round's probabilities and the last one's, on a fixed sample.

    >>> before = {"rows": np.array([4, 6]), "probabilities": np.array([[1.0, 0.0], [0.5, 0.5]])}
    >>> now = {"rows": np.array([4, 6]), "probabilities": np.array([[0.0, 1.0], [0.5, 0.5]])}
    >>> round(Divergence().change(before, now), 4)
    0.3466
    """

    name: ClassVar[str] = "divergence"
    title: ClassVar[str] = "JS divergence"
    settled: ClassVar[str] = "the probabilities of the unlabelled texts {have}changed by less than {size}"
    looks_at: ClassVar[str] = "probabilities of unlabelled texts"
    epsilon: ClassVar[float] = 0.01
    patience: ClassVar[int] = 2
    is_level: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        sample = model.unlabelled()
        probabilities = model.objective.probabilities(sample.logits).astype(np.float32)
        if model.objective.multi_label:  # each decision is a distribution over yes and no
            probabilities = np.stack([probabilities, 1 - probabilities], axis=-1)
        return {"rows": sample.rows.copy(), "probabilities": probabilities}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        _, old, new = np.intersect1d(before["rows"], now["rows"], assume_unique=True, return_indices=True)
        if not len(old):
            return 0.0
        return float(jensen_shannon(before["probabilities"][old], now["probabilities"][new]).mean())
