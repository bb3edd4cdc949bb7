"""The training loss: cross-entropy over classes, or binary cross-entropy of each class if a text may have several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.calibration import nll
from hybridal.measures.multi_label import total_nll


class Loss(Protocol):
    """The loss of a batch; negative labels are left out. Equal losses can share recorded graphs.

    Attributes:
        version: Changes when a recorded graph of this loss is no longer valid.
    """

    @property
    def version(self) -> int: ...

    def prepare(self, device: Any) -> None:
        """Must be called before a loss is computed, after labels were added."""

    def value(self, logits: Floats, labels: Ints) -> float:
        """Return the mean loss of a pass over validation texts, in float64."""

    def __call__(self, logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
        """Return the loss.

        Args:
            logits: The logits, (N, C).
            labels: Label numbers, on the same device.
            reduction: `mean` or `sum` over texts.
        """


@dataclass(frozen=True)
class CrossEntropy:
    """Each text has exactly one class."""

    @property
    def version(self) -> int:
        return 0

    def prepare(self, device: Any) -> None:
        pass

    def value(self, logits: Floats, labels: Ints) -> float:
        return nll(logits, labels)

    def __call__(self, logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
        return nn.functional.cross_entropy(logits, labels, reduction=reduction)


@dataclass(unsafe_hash=True)
class BinaryCrossEntropy:
    """Each text has a set of classes: the losses of its known decisions are added up.

    Targets are looked up in a table on the device, so that recorded graphs read label numbers too. The table has spare
    rows for new sets; its last row is that of unknown labels.

    Example:
        >>> loss = BinaryCrossEntropy(LabelSets(2))
        >>> loss.prepare("cpu")
        >>> round(float(loss(torch.zeros(2, 2), torch.tensor([0, -100]))), 3)
        1.386
    """

    sets: LabelSets
    _filled: int = field(default=0, init=False, compare=False, repr=False)
    _table: Tensor | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def version(self) -> int:
        return 0 if self._table is None else len(self._table)

    def prepare(self, device: Any) -> None:
        needed = len(self.sets.sets)
        if self._table is None or len(self._table) <= needed:
            self._table = torch.full((2 * needed + 1, self.sets.classes), torch.nan, device=device)
            self._filled = 0
        if self._filled < needed:
            added = torch.from_numpy(self.sets.targets(torch.arange(self._filled, needed).numpy()))
            self._table[self._filled : needed].copy_(added)  # in place: graphs hold its address
            self._filled = needed

    def value(self, logits: Floats, labels: Ints) -> float:
        return total_nll(logits, self.sets.targets(labels)) / len(labels)

    def __call__(self, logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
        assert self._table is not None
        targets = self._table[labels.clamp(min=-1)]
        known = ~targets.isnan()
        losses = nn.functional.binary_cross_entropy_with_logits(logits, targets.nan_to_num(), reduction="none")
        total = (losses * known).sum()
        return total if reduction == "sum" else total / (labels >= 0).sum()


CROSS_ENTROPY = CrossEntropy()


def loss_of(sets: LabelSets | None) -> Loss:
    """Return the loss of a task.

    Args:
        sets: Its sets of classes, if a text may have several.
    """
    return CROSS_ENTROPY if sets is None else BinaryCrossEntropy(sets)
