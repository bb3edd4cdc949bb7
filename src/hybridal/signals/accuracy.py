"""The change of validation accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hybridal.signals import ModelView, Signal, Snapshot


@dataclass(frozen=True)
class Accuracy(Signal):
    """The absolute change of accuracy on validation, computed exactly from counts.

    If a text may have several classes, it is the accuracy of decisions: one class of one text.

    The result is the float nearest to the true difference, so a tie with ε is a tie: 6 of 1,200 is not below 0.005.

    >>> Accuracy().change({"right": np.array(950), "n": np.array(1200)}, {"right": np.array(956), "n": np.array(1200)})
    0.005
    >>> abs(956 / 1200 - 950 / 1200)
    0.0050000000000000044
    """

    name: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "ΔAcc"
    settled: ClassVar[str] = "validation accuracy {has}changed by less than {points} points"
    looks_at: ClassVar[str] = "answers on validation"
    epsilon: ClassVar[float] = 5e-3
    patience: ClassVar[int] = 2
    needs_validation: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        logits, labels = model.validation.logits, model.validation_labels
        right, decisions = model.objective.right(logits, labels)
        return {"right": np.array(right, dtype=np.int64), "n": np.array(decisions, dtype=np.int64)}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return float(abs(_exact(now) - _exact(before)))


def _exact(snapshot: Snapshot) -> Fraction:
    return Fraction(int(snapshot["right"]), int(snapshot["n"]))
