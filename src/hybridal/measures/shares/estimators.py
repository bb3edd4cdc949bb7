"""Estimate shares and trends from random labels and a model's predictions: prediction-powered, design-based.

Everything that is estimated here is a weighted sum of labels over all texts: a share has the weights 1/N, the share of
a group 1/N within the group, the slope of a regression its least-squares weights. Each random label yields one value
whose expectation is that sum, whatever the model's errors are:

    known labels + predictions of the other texts + (label - prediction) / probability of the draw

Only texts that were not labelled before a draw can be drawn, so texts that a model chose are counted and never stand
for others. A draw may speak of a part of the texts only, such as those of one upload; each part is then estimated by
the draws that cover it, and the parts are added up. Texts of which nothing is known add their whole range to an
interval: those that no draw covers, and classes that people left open.

The mean of the values is the estimate (PPI++, 2311.01453; the values are the pseudo-outcomes of design-based supervised
learning, 2306.04746), their spread its interval. Predictions are multiplied by a λ that minimises the spread, 0 or
more; for each value, λ comes from the other labels, so it cannot adapt to the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.measures.error_tests import check_share
from hybridal.measures.shares.bounded_mean import AT_BOUNDS, mean_interval
from hybridal.measures.shares.labelled_texts import Flags, LabelledTexts

Tuning = tuple[Floats, Floats]

CONSTANT = 1e-12  # the variance of predictions that are the same but for rounding
PRIOR_LABELS = 10  # λ begins at 1, the best one of calibrated predictions, with the weight of this many labels


@dataclass(frozen=True, eq=False)
class Target:
    """A weighted sum of the labels of some texts.

    Attributes:
        rows: Whether each text belongs to it; the draw is conditioned on how many random labels do.
        weights: The weight of each text, (N,); 0 outside of `rows`.
        is_share: Whether it is a share, which is never below 0 or above 1.

    Example:
        >>> share_of(np.array([True, False, True])).weights.tolist()
        [0.5, 0.0, 0.5]
        >>> slope_on(np.array([0.0, 1.0, 2.0])).weights.tolist()
        [-0.5, 0.0, 0.5]
    """

    rows: Flags
    weights: Floats
    is_share: bool


def share_of(rows: Flags) -> Target:
    """The share of a class among these texts."""
    return Target(rows, rows / max(1, int(rows.sum())), is_share=True)


def slope_on(values: Floats) -> Target:
    """The slope of the least-squares line of the labels on a number of each text; texts with NaN are left out."""
    rows = ~np.isnan(values)
    centred = np.where(rows, values - values[rows].mean(), 0.0)
    return Target(rows, centred / (centred**2).sum(), is_share=False)


@dataclass(frozen=True, eq=False)
class Estimates:
    """One estimate and its interval for each class; NaN without a random label.

    Attributes:
        value: The estimates, (C,).
        low: The lower ends.
        high: The upper ends.
        labels: How many random labels there are, (C,); they differ if people left classes of some texts open.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    labels: Ints


def estimate(texts: LabelledTexts, target: Target, confidence: float = 0.95, powered: bool = True) -> Estimates:
    """Estimate a weighted sum of labels, for each class.

    Args:
        texts: Texts, predictions and random labels.
        target: What to estimate, such as `share_of` all texts.
        confidence: The probability with which each interval contains the truth.
        powered: Use the predictions; without them the estimate comes from random labels alone.

    Returns:
        The estimates.

    Raises:
        UserError: If the confidence is no share.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> labels = rng.random(2000) < 0.3
        >>> predicted = np.where(labels, 0.7, 0.1)[:, None]
        >>> drawn = rng.choice(2000, 150, replace=False)
        >>> targets = np.full((2000, 1), np.nan)
        >>> targets[drawn, 0] = labels[drawn]
        >>> from hybridal.core.provenance import RandomDraw
        >>> texts = LabelledTexts(targets, predicted > 0.5, predicted[None], [RandomDraw(np.ones(2000, bool), drawn)])
        >>> found = [estimate(texts, share_of(np.ones(2000, bool)), powered=with_model) for with_model in (True, False)]
        >>> [(one.value.round(2).item(), one.low.round(2).item(), one.high.round(2).item()) for one in found]
        [(0.3, 0.29, 0.31), (0.25, 0.19, 0.32)]
    """
    if np.isnan(texts.targets[texts.random_rows]).any():
        return _joined([_estimate(texts.of_class(c), target, confidence, powered) for c in range(texts.classes)])
    return _estimate(texts, target, confidence, powered)


def _estimate(texts: LabelledTexts, target: Target, confidence: float, powered: bool) -> Estimates:
    """Estimate a weighted sum of labels; the label of each random text is known for each class."""
    labels = int(target.rows[texts.random_rows].sum())
    if not labels:
        check_share(confidence, "The confidence")
        nothing = np.full(texts.classes, np.nan)
        return Estimates(nothing, nothing, nothing, np.zeros(texts.classes, dtype=np.int64))
    tuning = _tuning(texts, powered)
    parts = [_part(texts, target, rows, tuning, confidence) for rows in _parts(texts, target)]
    value = np.sum([part[0] for part in parts], axis=0)
    # Independent parts: their distances to the ends add up like standard errors (MOVER); those of unknown texts do not.
    below, above = (np.sqrt(np.sum([part[at] ** 2 for part in parts], axis=0)) for at in (1, 2))
    low = value - below - np.sum([part[3] for part in parts], axis=0)
    high = value + above + np.sum([part[4] for part in parts], axis=0)
    if target.is_share:
        least, most = _possible(texts.targets[target.rows])
        value, low, high = (np.clip(one, least, most) for one in (value, low, high))
    return Estimates(value, low, high, np.full(texts.classes, labels))


def _joined(parts: Sequence[Estimates]) -> Estimates:
    names = ("value", "low", "high", "labels")
    return Estimates(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _parts(texts: LabelledTexts, target: Target) -> list[Flags]:
    """Return the texts of the target, divided by the draws that cover them."""
    covers = [draw.covered for draw in texts.draws]
    if all(covered[target.rows].all() for covered in covers):
        return [target.rows]
    rows = np.flatnonzero(target.rows)
    _, part_of = np.unique(np.stack(covers, axis=1)[rows], axis=0, return_inverse=True)
    parts = []
    for number in range(part_of.max() + 1):
        parts.append(np.zeros(len(texts), dtype=bool))
        parts[-1][rows[part_of.ravel() == number]] = True
    return parts


def _part(texts: LabelledTexts, target: Target, rows: Flags, tuning: Tuning, confidence: float) -> tuple[Floats, ...]:
    """Return the estimate of a part, the distances to its ends, and how far unknown texts may move each of them."""
    part = replace(target, rows=rows)
    found = _values(texts, part, *tuning)
    if not len(found.values):
        known = np.where(np.isnan(texts.targets[rows]), texts.predicted[0][rows], texts.targets[rows])
        unsure = _range(texts, target.weights, rows)
        nothing = np.zeros(texts.classes)
        return target.weights[rows] @ known, nothing, nothing, *unsure
    value = found.values.mean(axis=0)
    drawn = len(found.values) / found.size
    ends = mean_interval(found.values, found.low, found.high, confidence, drawn, found.at_bounds)
    return value, value - ends[:, 0], ends[:, 1] - value, *found.unsure


def _tuning(texts: LabelledTexts, powered: bool) -> tuple[Floats, Floats]:
    """Return λ and a constant for each random label and class, from the other random labels, (n, C) each.

    Without the predictions λ is 0. The constant matters for weights that do not sum to the same over drawn texts as
    over all, such as those of slopes.
    """
    rows = texts.random_rows
    labels, predicted = texts.targets[rows], texts.predicted_of(rows)
    spread = PRIOR_LABELS * texts.predicted.var(axis=1).mean(axis=0)
    others = max(1, len(rows) - 1)
    mean_label, mean_predicted = ((part.sum(axis=0) - part) / others for part in (labels, predicted))
    products, squares = labels * predicted, predicted**2
    covariance = products.sum(axis=0) - products - others * mean_label * mean_predicted
    variance = np.maximum(squares.sum(axis=0) - squares - others * mean_predicted**2, 0.0)
    slopes = np.zeros_like(mean_label)
    # A prediction that is the same for all texts tells nothing.
    varies = (variance + spread > CONSTANT) & powered
    np.divide(covariance + spread, variance + spread, out=slopes, where=varies)
    slopes = np.maximum(slopes, 0.0)
    return slopes, mean_label - slopes * mean_predicted


@dataclass(frozen=True, eq=False)
class Values:
    """One value for each random label.

    Attributes:
        values: The values, (labels, C).
        low: The lowest one that a text could have, (C,).
        high: The highest one.
        label_range: How far apart the values would be if all texts had the same prediction, (C,).
        size: How many texts could be drawn, on average over the draws.
        unsure: How far texts that no draw could draw, and of which people left the class open, may move the mean down
            and up, (C,) each.
    """

    values: Floats
    low: Floats
    high: Floats
    label_range: Floats
    size: float
    unsure: tuple[Floats, Floats]

    @property
    def at_bounds(self) -> Floats:
        """How many observations stand at each bound, (C,).

        Predictions make the range of the values up to twice as wide. The weight at the bounds falls accordingly, so
        that they move the mean as far as those of labels alone, the Jeffreys interval.
        """
        share = np.divide(self.label_range, span := self.high - self.low, out=np.ones_like(span), where=span > 0)
        return AT_BOUNDS * np.minimum(share, 1.0)


def _values(texts: LabelledTexts, target: Target, slopes: Floats, offsets: Floats) -> Values:
    """Return one value for each random label of the target, by the draws that cover it."""
    classes, first = texts.classes, 0
    found, lows, highs, ranges, sizes = [np.empty((0, classes))], [], [], [], []
    unsure = np.zeros((2, classes))
    for draw in texts.draws:
        number = np.arange(first, first := first + len(draw.drawn))
        kept = target.rows[draw.drawn]
        rows, tuned = draw.drawn[kept], number[kept]
        if not len(rows):
            continue
        frame = target.rows & draw.frame
        size, weights = int(frame.sum()), target.weights[frame]
        known, moved = _known_sum(texts, target, ~draw.frame)
        unsure = np.maximum(unsure, moved)
        sums = np.stack([weights @ predicted[frame] for predicted in texts.predicted])  # (models, C)
        slope, offset = slopes[tuned], offsets[tuned]
        if len(rows) == size:  # all are labelled: nothing is left to predict
            slope, offset = np.zeros_like(slope), np.zeros_like(offset)
        fixed = known + slope * sums[texts.fold[rows]] + offset * weights.sum()
        error = texts.targets[rows] - slope * texts.predicted_of(rows) - offset
        found.append(fixed + size * target.weights[rows][:, None] * error)
        low, high, label_range = _extremes(texts, frame, target.weights, slope.mean(axis=0), offset.mean(axis=0))
        lows.append(fixed.mean(axis=0) + size * low)
        highs.append(fixed.mean(axis=0) + size * high)
        ranges.append(size * label_range)
        sizes.append(size)
    values = np.concatenate(found)
    if not sizes:
        nothing = np.zeros(classes)
        return Values(values, nothing, nothing, nothing, 0.0, (unsure[0], unsure[1]))
    low, high = (
        np.minimum(np.min(lows, axis=0), values.min(axis=0)),
        np.maximum(np.max(highs, axis=0), values.max(axis=0)),
    )
    return Values(values, low, high, np.max(ranges, axis=0), float(np.mean(sizes)), (unsure[0], unsure[1]))


def _known_sum(texts: LabelledTexts, target: Target, known: Flags) -> tuple[Floats, NDArray[np.float64]]:
    """Return the sum over texts that could not be drawn, and how far open classes may move it down and up."""
    rows = known & target.rows
    labels = texts.targets[rows]
    found: Floats = target.weights[rows] @ np.where(np.isnan(labels), texts.predicted[0][rows], labels)
    return found, np.stack(_range(texts, target.weights, rows))


def _range(texts: LabelledTexts, weights: Floats, rows: Flags) -> tuple[Floats, Floats]:
    """Return how far the weighted sum of these texts' predictions may lie above and below that of their labels."""
    predicted, weight = texts.predicted[0][rows], weights[rows][:, None]
    unknown = np.isnan(texts.targets[rows])
    moves = np.stack([np.where(unknown, weight * (label - predicted), 0.0) for label in (0.0, 1.0)])
    return -moves.min(axis=0).sum(axis=0), moves.max(axis=0).sum(axis=0)


def _extremes(texts: LabelledTexts, frame: Flags, weights: Floats, slope: Floats, offset: Floats) -> tuple[Floats, ...]:
    """Return the least and greatest weighted error that a text could have, and their range for equal predictions."""
    predicted, weight = slope * texts.predicted[0][frame] + offset, weights[frame][:, None]
    alike = predicted.mean(axis=0)
    errors, plain = (np.stack([weight * (label - one) for label in (0.0, 1.0)]) for one in (predicted, alike))
    return errors.min(axis=(0, 1)), errors.max(axis=(0, 1)), plain.max(axis=(0, 1)) - plain.min(axis=(0, 1))


def _possible(targets: Floats) -> tuple[Floats, Floats]:
    """Return between which shares the labels of people leave room."""
    return (targets == 1).sum(axis=0) / len(targets), 1 - (targets == 0).sum(axis=0) / len(targets)


def count_of_answers(texts: LabelledTexts, target: Target) -> Floats:
    """Return the naive estimates, for each class: the same sum over the model's answers."""
    found: Floats = target.weights @ texts.answers.astype(np.float64)
    return found


def random_rows_of(texts: LabelledTexts, target: Target) -> Ints:
    """Return the rows of the random labels that an estimate of the target uses."""
    rows = texts.random_rows
    found: Ints = rows[target.rows[rows]]
    return found
