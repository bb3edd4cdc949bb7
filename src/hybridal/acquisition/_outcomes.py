"""Probabilities of all outcomes, for acquisitions that measure uncertainty with one or with several labels per text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridal.core.outputs import Floats


def outcomes(probabilities: Floats, thresholds: Sequence[float]) -> Floats:
    """Return the probabilities of all outcomes of each text, along the last axis.

    With one class per text these are the class probabilities. With several, each class is a decision of its own with
    the outcomes yes and no; entropies and divergences of independent decisions add up.

    Args:
        probabilities: Class probabilities; the last axis is that of the classes.
        thresholds: `Candidates.thresholds`.

    Example:
        >>> outcomes(np.array([[0.75, 0.25]]), ()).tolist(), outcomes(np.array([[0.75, 0.5]]), (0.5, 0.5)).tolist()
        ([[0.75, 0.25]], [[0.75, 0.5, 0.25, 0.5]])
    """
    return np.concatenate([probabilities, 1 - probabilities], axis=-1) if len(thresholds) else probabilities
