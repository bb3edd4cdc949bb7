"""How many more random labels it takes until intervals are as narrow as wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hybridal.measures.error_tests import check_share

WIDEST = (1.96 / 2) ** 2
"""The squared half-width of the 95% interval of a share of 50% by one random label; n labels divide it by n."""


@dataclass(frozen=True)
class Precision:
    """How precise the estimate of a group is.

    Attributes:
        half_width: Half of the width of its interval.
        labels: How many random labels it has; without one, `half_width` has no meaning.
        texts: How many texts the group has.
    """

    half_width: float
    labels: int
    texts: int


def labels_needed(now: Precision, half_width: float) -> int:
    """Return how many random labels a group needs in all.

    Intervals shrink with the square root of their labels, and to nothing when all texts are labelled. It is a plan: the
    interval is then as narrow only if the next labels are like the first.

    Args:
        now: The group as it is.
        half_width: Half of the width that is wanted, such as 0.02.

    Returns:
        The number of labels, at most those of all texts; those that there are if the interval is narrow enough.

    Example:
        >>> labels_needed(Precision(0.05, labels=100, texts=100_000), 0.02)
        622
    """
    if now.half_width <= half_width or now.labels >= now.texts:
        return now.labels
    # The squared width is proportional to 1/labels - 1/texts.
    inverse = (1 / now.labels - 1 / now.texts) * (half_width / now.half_width) ** 2 + 1 / now.texts
    return min(now.texts, math.ceil(1 / inverse))


def more_labels(groups: Sequence[Precision], half_width: float) -> int:
    """Return how many more texts to draw at random, so that each group gets the labels that it needs.

    Each group gets its share of a draw, so the smallest one often decides. A group without a label is taken to be like
    the others, and if none has one, shares are taken to be 50% and the model to be of no use.

    Args:
        groups: All groups, which contain each text once.
        half_width: Half of the width that is wanted in each group.

    Returns:
        The number of texts to draw, at most all that have no random label.

    Raises:
        UserError: If `half_width` is no share.

    Example:
        >>> groups = [Precision(0.05, 100, 50_000), Precision(0.05, 50, 25_000)]
        >>> more_labels(groups, 0.05), more_labels(groups, 0.025), more_labels([*groups, Precision(0, 0, 25_000)], 0.05)
        (0, 447, 400)
    """
    check_share(half_width, "Half of the width")
    usual = max((group.half_width**2 * group.labels for group in groups if group.labels), default=WIDEST)
    texts, labels = sum(group.texts for group in groups), sum(group.labels for group in groups)
    most = 0.0
    for group in groups:
        now = group if group.labels else Precision(math.sqrt(usual), 1, group.texts)
        missing = labels_needed(now, half_width) - group.labels
        most = max(most, missing * texts / max(1, group.texts))
    return min(math.ceil(most), texts - labels)
