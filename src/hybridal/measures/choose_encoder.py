"""Choose among pretrained encoders by the log loss of their probes, damped so that noise does not decide.

A pure function of the losses of the labelled texts; docs/decisions/012-choosing-the-encoder.md has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.outputs import Floats

# Compare candidates from this many labels on, and again when the labels have grown by this factor.
MIN_LABELS, GROWTH = 10, 2
# A change must gain more than this many standard errors of the paired differences.
NOISE = 2.0


def is_due(labels: int, now: EncoderChoice | None) -> bool:
    """Whether to compare the candidates on this many labels.

    So a run changes its encoder at most `max_changes` times.

    >>> [is_due(labels, EncoderChoice("minilm", judged=45)) for labels in (45, 89, 90)]
    [False, False, True]
    """
    return labels >= max(MIN_LABELS, GROWTH * (now.judged if now else 0))


def max_changes(labels: int) -> int:
    """How often candidates are compared at most until there are this many labels.

    >>> max_changes(9), max_changes(10), max_changes(968)
    (0, 1, 7)
    """
    return 0 if labels < MIN_LABELS else 1 + int(math.log(labels / MIN_LABELS, GROWTH))


def choose(losses: Mapping[str, Floats], now: EncoderChoice | None = None) -> EncoderChoice:
    """Choose the encoder with the lowest loss if its gain is more than noise; else keep the one in use.

    Args:
        losses: For each candidate the cross-fitted loss of each labelled text, in the same order.
        now: The choice of the last round; None in the first, in which the first candidate counts as in use.

    Returns:
        The new choice.

    Example:
        >>> import numpy as np
        >>> losses = {"minilm": np.array([0.9, 0.7, 0.8]), "gte-small": np.array([0.5, 0.4, 0.6])}
        >>> choose(losses).reason
        'gte-small: log loss 0.50 against 0.80 of minilm on 3 labels'
    """
    means = {name: float(values.mean()) for name, values in losses.items()}
    best = min(means, key=lambda name: means[name])
    labels = len(losses[best])
    used = now.backbone if now else next(iter(losses))
    chosen = best if _gain_is_clear(losses[used] - losses[best]) else used
    changed = now is not None and now.backbone != chosen
    return EncoderChoice(chosen, changed, labels, means, _reason(chosen, means, labels))


def _gain_is_clear(gains: Floats) -> bool:
    """Whether the mean gain of these texts is more than its noise."""
    error = gains.std(ddof=1) / math.sqrt(len(gains)) if len(gains) > 1 else math.inf
    return bool(gains.mean() > NOISE * error)


def _reason(chosen: str, means: Mapping[str, float], labels: int) -> str:
    others = ", ".join(
        f"{means[name]:.2f} of {name}" for name in sorted(means, key=means.__getitem__) if name != chosen
    )
    return f"{chosen}: log loss {means[chosen]:.2f} against {others} on {labels} labels"
