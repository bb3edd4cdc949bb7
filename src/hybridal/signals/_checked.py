"""The one place where a change that is no number is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hybridal.errors import UserError

if TYPE_CHECKING:
    from hybridal.signals import Signal, Snapshot


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
    change = float(signal.change(before, now))
    if not math.isfinite(change):
        raise UserError(
            f"The signal '{signal.name}' changed by {change}, which is not a finite number; "
            "training may have diverged: lower the learning rate, or watch another signal."
        )
    return change
