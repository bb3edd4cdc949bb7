"""Signals measure how much the model changed between two consecutive rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hybridal.core.components import calling, result_error
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.errors import UserError
from hybridal.measures.objective import Objective
from hybridal.registry import Registry

if TYPE_CHECKING:
    import torch

Snapshot = dict[str, Any]
"""Arrays by name: numpy arrays, or torch tensors on a GPU for signals that keep all weights."""


class ModelView(Protocol):
    """What a signal may read from the model of a round. Everything is computed on first use.

    `hybridal.testing.FakeModel` implements it over given arrays, so that signals can be tried without training.

    Example:
        >>> from hybridal.testing import FakeModel
        >>> view = FakeModel(logits=[[0.0, 2.0], [1.0, 0.0]], labels=[1, 0])
        >>> view.validation.logits.argmax(axis=1).tolist(), view.validation_labels.tolist()
        ([1, 0], [1, 0])
    """

    @property
    def validation(self) -> Outputs:
        """The outputs for the validation texts, at the kept epoch; with features if the signal needs them."""

    @property
    def validation_labels(self) -> Ints:
        """The label number of each validation text."""

    @property
    def objective(self) -> Objective:
        """What logits and labels mean: exactly one class per text, or any set of classes."""

    def weights(self) -> Mapping[str, torch.Tensor]:
        """Return all trainable parameters.

        Returns:
            The parameters by name.
        """

    def matrices(self) -> Mapping[str, torch.Tensor]:
        """Return the weight matrices of the linear layers.

        Returns:
            The matrices by name: attention, feed-forward, pooler and head, without embeddings.
        """

    def gradient_norm(self) -> float:
        """Compute the norm of the gradient, with dropout off.

        Returns:
            The L2 norm of the mean gradient of the validation loss.
        """

    def labelled(self) -> tuple[Outputs, Ints]:
        """Run the model on the labelled pool, which costs a pass over these texts.

        Returns:
            The outputs, with features, and the labels.
        """

    def unlabelled(self) -> Sample:
        """Run the model on a fixed random sample of texts.

        Returns:
            The outputs, without those of texts that have a label by now.
        """


@dataclass(frozen=True)
class Sample:
    """Unlabelled texts with the logits of the model and of a probe.

    The probe is a logistic regression on the frozen encoder's features, fitted to the same labels. It is a reference
    that cannot forget.

    Attributes:
        rows: Positions of the texts in the training split.
        logits: The model's logits, (N, C).
        probe: Computes the probe's logits, (N, C).

    Example:
        >>> import numpy as np
        >>> sample = Sample(np.array([4, 7]), np.array([[0.0, 1.0], [2.0, 0.0]]), lambda: np.zeros((2, 2)))
        >>> sample.logits.argmax(axis=1).tolist()
        [1, 0]
    """

    rows: Ints
    logits: Floats
    probe: Callable[[], Floats]


class Signal(Protocol):
    """Measures how much the model changed between two rounds.

    After each round the loop calls `snapshot` once with the trained model, keeps the result in the checkpoint and, from
    the second round on, calls `change` with the snapshots of the last round and this one. `hybrid:NAME` compares the
    changes with ε. Inherit from this class for the defaults; a frozen dataclass is the simplest implementation. Check
    it with `hybridal.testing.check_signal`.

    Attributes:
        name: The name in specs such as `hybrid:accuracy`, in lower case with hyphens.
        title: The name in tables and figures.
        epsilon: The default ε of `hybrid:NAME`: changes below it count as stable.
        patience: The default k of `hybrid:NAME`: how many stable rounds in a row it takes to switch.
        is_level: The value of one round is compared with ε itself (a distance), not its difference between two rounds.
        settled: A sentence that the changes stayed below ε, with placeholders `{name}`, `{has}`, `{have}` or `{was}`
            for the verb, and `{size}` (ε) or `{points}` (100 ε).
        looks_at: What it is computed from, for listings.
        needs_validation: It reads the validation texts, so a run without any is refused.
        same_validation: It compares the same validation texts in both rounds, so they must not grow.
        needs_features: Makes the passes over validation keep the hidden states (`Outputs.hidden`).

    Example:
        The share of validation texts whose predicted class changed:

        >>> import numpy as np
        >>> from hybridal.testing import FakeModel, check_signal
        >>> @dataclass(frozen=True)
        ... class Flips(Signal):
        ...     name: ClassVar[str] = "flips"
        ...     title: ClassVar[str] = "flips"
        ...     epsilon: ClassVar[float] = 0.02
        ...     patience: ClassVar[int] = 2
        ...     is_level: ClassVar[bool] = True
        ...     needs_validation: ClassVar[bool] = True
        ...     same_validation: ClassVar[bool] = True
        ...     def snapshot(self, model: ModelView) -> Snapshot:
        ...         return {"classes": model.validation.logits.argmax(axis=1)}
        ...     def change(self, before: Snapshot, now: Snapshot) -> float:
        ...         return float(np.mean(before["classes"] != now["classes"]))
        >>> models = FakeModel([[0, 1], [0, 1]], [1, 1]), FakeModel([[0, 1], [1, 0]], [1, 1])
        >>> Flips().change(*(Flips().snapshot(model) for model in models))
        0.5
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

    def snapshot(self, model: ModelView) -> Snapshot:
        """Return what to remember of a round's model; called once, right after the round's training.

        Args:
            model: The trained model; it must not be modified.

        Returns:
            Named numeric arrays that share no memory with the model. Scalars are arrays without dimensions.
        """

    def change(self, before: Snapshot, now: Snapshot) -> float:
        """Return how far two snapshots are apart; called from the second round on.

        Args:
            before: The snapshot of the previous round, possibly loaded from a checkpoint.
            now: The snapshot of this round.

        Returns:
            A finite number of at least 0. A number that is not finite ends the run with an error.
        """


SIGNALS: Registry[Signal] = Registry("signals", "title", "epsilon", "patience", "is_level", "snapshot", "change")


def signal_title(name: str) -> str:
    """Return the title of a recorded signal, or its name if the signal is not installed.

    >>> signal_title("accuracy"), signal_title("weight-distance"), signal_title("mine")
    ('ΔAcc', '‖Δθ‖', 'mine')
    """
    try:
        return SIGNALS.make(name).title
    except UserError:
        return name


def measured_change(signal: Signal, before: Snapshot, now: Snapshot) -> float:
    """Return the signal's change between two rounds; NaN would never be below ε, so it is an error.

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
    """Call `Signal.snapshot` and check its result; errors name the signal.

    Args:
        signal: The signal.
        view: The model of the round.

    Returns:
        The signal's arrays by name.

    Raises:
        UserError: A signal of another package failed, or returned something else.
    """
    with calling("signal", signal):
        found = signal.snapshot(view)
    if not isinstance(found, dict) or not all(hasattr(array, "shape") for array in found.values()):
        raise result_error("signal", signal, f"must give a snapshot of arrays by name, not {found!r:.60}")
    return found


def hidden_states(outputs: Outputs, signal: str) -> Floats:
    """The last hidden states at position 0; a pass keeps them only if a signal `needs_features`."""
    if outputs.hidden is None:
        raise ValueError(f"the signal '{signal}' needs features, but this pass was made without them")
    return outputs.hidden


__all__ = ["SIGNALS", "ModelView", "Sample", "Signal", "Snapshot", "measured_change", "signal_title"]
