"""The change of the within-class spread of validation features (neural collapse)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.signals import ModelView, Signal, Snapshot, hidden_states


def within_class_spread(features: Floats, targets: Floats) -> float:
    """The mean squared distance of features to the mean of their class, averaged over classes of two or more.

    Args:
        features: One row per text.
        targets: 1 for each class of each text, (N, C).

    >>> features = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [5.0, 5.0], [9.0, 9.0]])
    >>> targets = np.eye(3)[[0, 0, 1, 1, 2]]
    >>> within_class_spread(features, targets)  # classes of 1 and 4; the lone text has no spread
    2.5
    """
    spreads = []
    for of_class in targets.T == 1:
        members = features[of_class].astype(np.float64)
        if len(members) > 1:
            spreads.append(float(((members - members.mean(axis=0)) ** 2).sum(axis=1).mean()))
    if not spreads:
        raise UserError("The signal 'nc' needs a class with two texts; label more, or watch another signal.")
    return float(np.mean(spreads))


@dataclass(frozen=True)
class Nc(Signal):
    """The absolute change of the within-class spread of position-0 features: neural collapse.

    It is measured on validation, as in the paper's text; `nc-labelled` is that of the published code.

    >>> Nc().change({"spread": np.array(9.0)}, {"spread": np.array(6.5)})
    2.5
    """

    name: ClassVar[str] = "nc"
    title: ClassVar[str] = "ΔNC"
    settled: ClassVar[str] = "the spread of features within a class {has}changed by less than {size}"
    looks_at: ClassVar[str] = "features on validation"
    # Half the published normaliser, as in the signal ablation; it was measured on the labelled pool.
    epsilon: ClassVar[float] = 0.5 * 8.93121
    patience: ClassVar[int] = 3
    needs_validation: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        features = hidden_states(model.validation, self.name)
        return {"spread": np.array(within_class_spread(features, model.objective.targets(model.validation_labels)))}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return abs(float(now["spread"]) - float(before["spread"]))
