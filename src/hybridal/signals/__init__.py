"""Signals: how much the model changed between two consecutive rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.registry import Registry
from hybridal.signals._checked import measured_change

if TYPE_CHECKING:
    import torch

Snapshot = dict[str, NDArray[Any]]


class ModelView(Protocol):
    """What a signal may look at when a round's model is ready. Nothing is computed before it is asked for."""

    @property
    def validation(self) -> Outputs:
        """The pass over validation at the kept epoch."""

    @property
    def validation_labels(self) -> Ints: ...

    def weights(self) -> Mapping[str, torch.Tensor]:
        """All trainable parameters by name."""

    def matrices(self) -> Mapping[str, torch.Tensor]:
        """The weight matrices of the linear layers by name (attention, feed-forward, pooler, head; no embeddings)."""

    def gradient_norm(self) -> float:
        """The L2 norm of the mean gradient of the loss over validation, dropout off."""

    def labelled(self) -> tuple[Outputs, Ints]:
        """A pass with features over the labelled pool, and its labels."""

    def unlabelled(self) -> Sample:
        """What is said of a fixed sample of texts, those of them that have no label yet."""


@dataclass(frozen=True)
class Sample:
    """Rows of the pool, the model's logits for each, and those of the probe: a logistic regression on the frozen
    encoder, which knows the same labels and cannot forget.
    """

    rows: Ints
    logits: Floats
    probe: Callable[[], Floats]


class Signal(Protocol):
    """Says what to remember of a round's model, and how far two such memories are apart.

    `epsilon` and `patience` are the signal's defaults for `hybrid:SIGNAL`. `needs_validation` says that it looks at
    validation texts, and `needs_features` makes the passes over them keep their features.
    """

    name: ClassVar[str]
    epsilon: ClassVar[float]
    patience: ClassVar[int]
    needs_validation: ClassVar[bool]
    needs_features: ClassVar[bool]

    def snapshot(self, model: ModelView) -> Snapshot: ...

    def change(self, before: Snapshot, now: Snapshot) -> float: ...


SIGNALS: Registry[Signal] = Registry("signals")

__all__ = ["SIGNALS", "ModelView", "Sample", "Signal", "Snapshot", "measured_change"]
