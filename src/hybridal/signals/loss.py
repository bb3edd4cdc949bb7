"""The change of the validation loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.signals import ModelView, Signal, Snapshot


@dataclass(frozen=True)
class Loss(Signal):
    """The absolute change of the cross-entropy on validation, as the mean over examples.

    >>> Loss().change({"loss": np.array(0.75)}, {"loss": np.array(1.0)})
    0.25
    """

    name: ClassVar[str] = "loss"
    title: ClassVar[str] = "ΔLoss"
    settled: ClassVar[str] = "the validation loss {has}changed by less than {size}"
    looks_at: ClassVar[str] = "answers on validation"
    epsilon: ClassVar[float] = 0.5 * 0.0159719  # half the published normaliser, as in the signal ablation
    patience: ClassVar[int] = 3
    needs_validation: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        return {"loss": np.array(model.objective.nll(model.validation.logits, model.validation_labels))}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return abs(float(now["loss"]) - float(before["loss"]))
