"""The norm of the gradient of the validation loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.signals import ModelView, Signal, Snapshot


@dataclass(frozen=True)
class GradientNorm(Signal):
    """The L2 norm of the mean gradient of the loss over validation: a level, not a difference.

    The published normaliser, 145.9556, was measured on the sum over the 32 batches of IMDb's validation set (500 texts
    in batches of 16). The default ε is half of it, divided by 32 for the scale of a mean.

    >>> GradientNorm().change({"norm": np.array(3.0)}, {"norm": np.array(0.5)})
    0.5
    """

    name: ClassVar[str] = "gradient-norm"
    title: ClassVar[str] = "‖∇L‖"
    settled: ClassVar[str] = "the gradient of the validation loss {was} shorter than {size}"
    looks_at: ClassVar[str] = "gradients on validation"
    epsilon: ClassVar[float] = 0.5 * 145.9556 / 32
    patience: ClassVar[int] = 3
    is_level: ClassVar[bool] = True
    needs_validation: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        return {"norm": np.array(float(model.gradient_norm()))}

    def change(self, before: Snapshot, now: Snapshot) -> float:  # noqa: ARG002 - a level needs no past
        return float(now["norm"])
