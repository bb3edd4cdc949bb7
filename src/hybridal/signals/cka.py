"""The change of the features of the validation texts, by linear CKA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.signals import ModelView, Signal, Snapshot, hidden_states


def linear_cka(x: Floats, y: Floats) -> float:
    """Linear centred kernel alignment of two sets of features of the same texts, from 0 to 1.

    Computed from (H, H) products of features rather than (N, N) products of texts. It is invariant to rotation and
    scaling of the features; features without any spread give NaN.

    >>> x = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 5.0]])
    >>> round(linear_cka(x, 3 * x[:, ::-1]), 12)
    1.0
    """
    x, y = (features.astype(np.float64) - features.mean(axis=0, dtype=np.float64) for features in (x, y))
    own = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(y.T @ x) ** 2 / own) if own > 0 else float("nan")


@dataclass(frozen=True)
class Cka(Signal):
    """1 - linear CKA between the position-0 features of validation in two rounds.

    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> round(Cka().change({"hidden": x}, {"hidden": x[:, :1]}), 6)  # 1 - 1 / sqrt(2)
    0.292893
    """

    name: ClassVar[str] = "cka"
    title: ClassVar[str] = "ΔCKA"
    settled: ClassVar[str] = "the features of the validation texts {have}changed by less than {size}"
    looks_at: ClassVar[str] = "features on validation"
    epsilon: ClassVar[float] = 0.5 * 0.0780247  # half the published normaliser, as in the signal ablation
    patience: ClassVar[int] = 3
    is_level: ClassVar[bool] = True
    needs_validation: ClassVar[bool] = True
    same_validation: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        return {"hidden": np.array(hidden_states(model.validation, self.name))}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        if len(before["hidden"]) != len(now["hidden"]):
            raise UserError("The signal 'cka' needs the same validation texts in both rounds; start a new run.")
        # Rounding can put CKA slightly above 1.
        return _at_least_zero(1.0 - linear_cka(before["hidden"], now["hidden"]))


def _at_least_zero(value: float) -> float:
    return 0.0 if value < 0 else value  # unlike max(), keeps NaN
