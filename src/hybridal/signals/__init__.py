"""Signals: how much the model changed between two consecutive rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hybridal.core.components import answer_error, calling
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.errors import UserError
from hybridal.registry import Registry

if TYPE_CHECKING:
    import torch

Snapshot = dict[str, Any]
"""Arrays by name: numpy's, or torch's of a GPU where all weights are among them."""


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

    `title` is what tables and figures call it. `epsilon` and `patience` are its defaults for `hybrid:SIGNAL`. A level
    is compared with ε as it is; of the others the difference between two rounds is. `settled` tells in words that it
    stayed below ε, with places for its `{name}`, the verb (`{has}`, `{have}`, `{was}`) and ε (`{size}`, or `{points}`
    for a hundred times it). `looks_at` says of what it is made, `needs_validation` that validation texts are among it,
    `same_validation` that they must be the same in both rounds, and `needs_features` makes the passes over them keep
    their features. What has a default here is inherited.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    epsilon: ClassVar[float]
    patience: ClassVar[int]
    is_level: ClassVar[bool] = False
    settled: ClassVar[str] = "the signal '{name}' {has}changed by less than {size}"
    looks_at: ClassVar[str] = ""
    needs_validation: ClassVar[bool] = False
    same_validation: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False

    def snapshot(self, model: ModelView) -> Snapshot: ...

    def change(self, before: Snapshot, now: Snapshot) -> float: ...


SIGNALS: Registry[Signal] = Registry("signals", "title", "epsilon", "patience", "is_level", "snapshot", "change")


def signal_title(name: str) -> str:
    """What a recorded signal is called; one that is not installed here goes by its name.

    >>> signal_title("accuracy"), signal_title("weight-distance"), signal_title("mine")
    ('ΔAcc', '‖Δθ‖', 'mine')
    """
    try:
        return SIGNALS.make(name).title
    except UserError:
        return name


def measured_change(signal: Signal, before: Snapshot, now: Snapshot) -> float:
    """The signal's change between two rounds; one that is not finite would decide silently, so it is an error.

    >>> import numpy as np
    >>> from hybridal.signals.loss import Loss
    >>> measured_change(Loss(), {"loss": np.array(0.5)}, {"loss": np.array(0.25)})
    0.25
    >>> measured_change(Loss(), {"loss": np.array(0.5)}, {"loss": np.array(np.nan)})
    Traceback (most recent call last):
    ...
    hybridal.errors.UserError: The signal 'loss' changed by nan, which is not a finite number; training may have
    diverged: lower the learning rate, or watch another signal.
    """
    with calling("signal", signal):
        change = float(signal.change(before, now))
    if not math.isfinite(change):
        raise UserError(
            f"The signal '{signal.name}' changed by {change}, which is not a finite number; "
            "training may have diverged: lower the learning rate, or watch another signal."
        )
    return change


def snapshot_of(signal: Signal, view: ModelView) -> Snapshot:
    """What a signal remembers of a model; a signal that fails or gives no arrays by name is named.

    Args:
        signal: The signal.
        view: What it may look at.

    Returns:
        Its arrays by name.

    Raises:
        UserError: A signal of another package failed, or gave something else.
    """
    with calling("signal", signal):
        found = signal.snapshot(view)
    if not isinstance(found, dict) or not all(hasattr(array, "shape") for array in found.values()):
        raise answer_error("signal", signal, f"must give a snapshot of arrays by name, not {found!r:.60}")
    return found


def hidden_states(outputs: Outputs, signal: str) -> Floats:
    """The last hidden states at position 0, which a pass keeps only when it was asked to."""
    if outputs.hidden is None:
        raise ValueError(f"the signal '{signal}' needs features, but this pass was made without them")
    return outputs.hidden


__all__ = ["SIGNALS", "ModelView", "Sample", "Signal", "Snapshot", "measured_change", "signal_title"]
