"""How much the features of each class drew together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.errors import UserError
from hybridal.outputs import Floats, Ints
from hybridal.signals import ModelView, Snapshot
from hybridal.signals._features import hidden_states

POOLS = ("validation", "labelled")


def within_class_spread(features: Floats, labels: Ints) -> float:
    """The mean squared distance of features to the mean of their class, averaged over classes of two or more.

    >>> features = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [5.0, 5.0], [9.0, 9.0]])
    >>> within_class_spread(features, np.array([0, 0, 1, 1, 2]))  # classes of 1 and 4; the lone text has no spread
    2.5
    """
    spreads = []
    for one in np.unique(labels):
        members = features[labels == one].astype(np.float64)
        if len(members) > 1:
            spreads.append(float(((members - members.mean(axis=0)) ** 2).sum(axis=1).mean()))
    if not spreads:
        raise UserError("The signal 'nc' needs a class with two texts; label more, or watch another signal.")
    return float(np.mean(spreads))


@dataclass(frozen=True)
class Nc:
    """The absolute change of the within-class spread of position-0 features: neural collapse.

    `pool` says of which texts: those of validation, as in the paper's text, or the labelled ones
    (`nc:labelled`), as in the published code.

    >>> Nc().change({"spread": np.array(9.0)}, {"spread": np.array(6.5)}), Nc("labelled").pool
    (2.5, 'labelled')
    """

    name: ClassVar[str] = "nc"
    epsilon: ClassVar[float] = 0.5 * 8.93121  # half the published normaliser, as in the signal ablation
    patience: ClassVar[int] = 3
    needs_features: ClassVar[bool] = True

    pool: str = "validation"

    def __post_init__(self) -> None:
        if self.pool not in POOLS:
            raise ValueError(f"its pool must be one of {', '.join(POOLS)}, not '{self.pool}'")

    def snapshot(self, model: ModelView) -> Snapshot:
        outputs, labels = (model.validation, model.validation_labels) if self.pool == "validation" else model.labelled()
        return {"spread": np.array(within_class_spread(hidden_states(outputs, self.name), labels))}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return abs(float(now["spread"]) - float(before["spread"]))
