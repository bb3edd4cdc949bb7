"""The change of validation macro-F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.signals import ModelView, Signal, Snapshot


@dataclass(frozen=True)
class F1(Signal):
    """The absolute change of macro F1 on validation.

    >>> F1().change({"f1": np.array(0.75)}, {"f1": np.array(0.5)})
    0.25
    """

    name: ClassVar[str] = "f1"
    title: ClassVar[str] = "ΔF1"
    settled: ClassVar[str] = "validation macro-F1 {has}changed by less than {points} points"
    looks_at: ClassVar[str] = "answers on validation"
    epsilon: ClassVar[float] = 0.5 * 0.0245349  # half the published normaliser, as in the signal ablation
    patience: ClassVar[int] = 3
    needs_validation: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        logits, labels = model.validation.logits, model.validation_labels
        return {"f1": np.array(model.objective.macro_f1(logits, labels))}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return abs(float(now["f1"]) - float(before["f1"]))
