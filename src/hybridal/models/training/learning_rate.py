"""The learning rate of each step of a training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.core.rules import Rules


def varies(rules: Rules) -> bool:
    return rules.decay or rules.warmup > 0


def rates(steps: int, rules: Rules) -> NDArray[np.float64]:
    """Learning rates: linear warm-up, then constant, or with `rules.decay` linear decay to 0 after the last step.

    >>> from hybridal.core.rules import protocol
    >>> rates(5, protocol("paper", {"learning_rate": 1.0, "warmup": 0.4, "decay": True})).tolist()
    [0.5, 1.0, 0.75, 0.5, 0.25]
    """
    number = np.arange(steps)
    rising = round(rules.warmup * steps)
    share = np.minimum(1.0, (number + 1) / max(1, rising))
    if rules.decay:
        share = np.where(number < rising, share, 1 - (number + 1 - max(1, rising)) / (steps + 1 - max(1, rising)))
    found: NDArray[np.float64] = rules.learning_rate * share
    return found
