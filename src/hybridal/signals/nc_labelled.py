"""The change of the within-class spread of features of the labelled pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.signals import ModelView, Signal, Snapshot, hidden_states
from hybridal.signals.nc import Nc, within_class_spread


@dataclass(frozen=True)
class NcLabelled(Signal):
    """`nc` as in the published code: measured on the training texts, which costs a pass over them.

    >>> NcLabelled().change({"spread": np.array(9.0)}, {"spread": np.array(6.5)})
    2.5
    """

    name: ClassVar[str] = "nc-labelled"
    title: ClassVar[str] = "ΔNC labelled"
    settled: ClassVar[str] = (
        "the spread of the labelled texts' features within a class {has}changed by less than {size}"
    )
    looks_at: ClassVar[str] = "features of the labelled pool"
    epsilon: ClassVar[float] = Nc.epsilon
    patience: ClassVar[int] = Nc.patience

    def snapshot(self, model: ModelView) -> Snapshot:
        outputs, labels = model.labelled()
        features = hidden_states(outputs, self.name)
        return {"spread": np.array(within_class_spread(features, model.objective.targets(labels)))}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return Nc().change(before, now)
