"""How many predictions for unlabelled texts changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.signals import ModelView, Signal, Snapshot


@dataclass(frozen=True)
class Agreement(Signal):
    """The share of a fixed sample of unlabelled texts whose predicted class changed since the last round.

    It needs no labels, and is an upper bound of the change of accuracy on such texts. If a text may have several
    classes, its prediction is the set of them: the most probable one may stay while others come and go.

    >>> before = {"rows": np.array([4, 6, 9]), "classes": np.array([0, 1, 1])}
    >>> Agreement().change(before, {"rows": np.array([4, 9]), "classes": np.array([0, 0])})
    0.5
    """

    name: ClassVar[str] = "agreement"
    title: ClassVar[str] = "ΔAgreement"
    settled: ClassVar[str] = "the share of unlabelled texts whose predicted class changed {was} below {points}%"
    looks_at: ClassVar[str] = "answers on unlabelled texts"
    epsilon: ClassVar[float] = 0.02
    patience: ClassVar[int] = 2
    is_level: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        sample = model.unlabelled()
        return {"rows": sample.rows.copy(), "classes": model.objective.predict(sample.logits)}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        _, old, new = np.intersect1d(before["rows"], now["rows"], assume_unique=True, return_indices=True)
        changed = before["classes"][old] != now["classes"][new]
        return float(changed.reshape(len(old), -1).any(axis=1).mean()) if len(old) else 0.0
