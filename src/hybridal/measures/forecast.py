"""Forecast the accuracy and macro-F1 of a model after more labels, from its rounds so far.

Validation tells how good the model is now; with few texts, it tells little about the future. The disagreement does: the
share of unlabelled texts on which two consecutive models predict different classes. It needs no label, it can be
measured on a thousand texts, and it falls with the number m of labels as pace / m, so pace · log(m' / m) of it is still
to come. A share of that is gain, the rest is random change, and the share falls with the labels per class. So the gain
is an inverse power law in m whose height is the pace:

    gain = SHARE · pace · (m / classes)^-POWER · (1 - (m / m')^POWER) / POWER

With less than one label per class, the share is SHARE: the law was not fitted there, and would exceed all bounds.

Models that are retrained each round also disagree because of their random start. That part does not fall with m; it is
estimated as a constant, and adds no gain.

The error in macro-F1 is the error in accuracy times a ratio. The texts per class suggest the ratio (`skew.py`), the
measured macro-F1 corrects it if every class has enough texts, and on skewed tasks it drifts as rare classes are learnt.
SHARE, POWER and their spreads were fitted to 215 runs on nine tasks, with frozen and with trained encoders;
FIRST_PACE to the first rounds of trained encoders, with and without class names;
WANDER and RATIO_DRIFT to skewed tasks too (`bench/forecasts.py`).

With several labels per text, a prediction is right if the whole set is, and micro-F1 takes the place of macro-F1, which
validation measures too poorly where a text is one of many classes. What texts per class suggest about the ratio does
not hold, so the ratio is the measured one, and there is no forecast before micro-F1 is known. The ratio is for gains
only: micro-F1 itself is what validation measured. It is nearer to the truth than its interval says, which takes all
classes of a text for one decision, by MICRO_F1_SPREAD. Most changes of a set are no gain, and new thresholds move the
rest. The three constants of several labels were chosen on one seed of three tasks (`bench/multi_label.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hybridal.errors import UserError
from hybridal.measures.certainty import Z
from hybridal.measures.skew import log_error_ratio

Draws = NDArray[np.float64]

SHARE, POWER = 0.5, 0.35  # the share at one label per class, and how it falls with them
SHARE_SPREAD, PACE_SPREAD = 0.6, 0.4  # standard deviations: of log SHARE between tasks, of the log pace of one round
SHARE_DRIFT = 0.5  # how far, in proportion, the share of the past may be off for the future
MIN_PACE = 0.02  # a sample without any disagreement may still hide this much
# If the disagreement is unknown: the pace per error, its spread, and the constant part.
BLIND_PACE, BLIND_SPREAD, BLIND_FLOOR = 1.85, 0.55, 0.02
# After the first round: the pace per error with up to one label per class. There the gain per error does not depend on
# the labels per class, so the pace grows as the share falls.
FIRST_PACE = 0.45
WANDER, RESTART = 1e-3, 2e-3  # variance of accuracy per expected disagreement, and per disagreement of a random start
MULTI_LABEL_SHARE, MULTI_LABEL_WANDER, MICRO_F1_SPREAD = 0.15, 2e-3, 0.82
TEXTS_PER_CLASS, MIN_SUPPORT = 10, 2  # for a measured macro-F1 to count: on average, and of each class if known
RATIO_DRIFT = 0.4  # how far log(error in macro-F1 / error in accuracy) moves, per unit, from one label per class on
POINTS = 4096


@dataclass(frozen=True)
class Observation:
    """What one round showed.

    Attributes:
        labels: How many labels its model learnt from.
        right: How many validation texts were predicted correctly.
        n: How many validation texts there were, drawn at random; 0 without validation.
        f1: The macro-F1 on validation, the mean over the classes that have texts; with several labels per text, the
            micro-F1.
        disagreement: The share of about 1,000 random texts, drawn once and preferably never labelled, on which this
            model and that of the previous observation predict different classes; None if there is none before.
        support: The validation texts of each class, if known; the forecast of macro-F1 allows for classes with few.
            It is ignored if its number of classes is not the forecast's, since a class was added later.
        f1_interval: With several labels per text: the 95% interval of the micro-F1, if it is known.
        multi_label: Whether a text may have several classes; `right` then counts exact matches.
    """

    labels: int
    right: int = 0
    n: int = 0
    f1: float | None = None
    disagreement: float | None = None
    support: tuple[int, ...] = ()
    f1_interval: tuple[float, float] | None = None
    multi_label: bool = False

    def __post_init__(self) -> None:
        if self.labels < 1:
            raise UserError(f"A forecast needs at least one label, not {self.labels}.")
        if not 0 <= self.right <= self.n:
            raise UserError(f"Of {self.n} validation texts, {self.right} cannot be right.")
        for name, share in (("F1", self.f1), ("disagreement", self.disagreement)):
            if share is not None and not 0 <= share <= 1:
                raise UserError(f"The {name} must lie between 0 and 1, not {share}.")
        if self.support and not self.multi_label and sum(self.support) != self.n:
            raise UserError(f"The texts per class add up to {sum(self.support)}, not to the {self.n} validation texts.")


@dataclass(frozen=True)
class Interval:
    """An expected value with the bounds of its prediction interval."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """The forecast for `labels` labels; gains are relative to the last observation.

    Without validation, `accuracy` and `f1` are None and only the gains are known. With several labels per text,
    `accuracy` is the share of exact matches, and `f1` the micro-F1.
    """

    labels: int
    accuracy: Interval | None
    f1: Interval | None
    accuracy_gain: Interval
    f1_gain: Interval


def forecast(seen: Sequence[Observation], labels: int, classes: int, level: float = 0.9) -> Forecast | None:
    """Forecast the model after more labels; None if the rounds have neither validation nor disagreement.

    Args:
        seen: What the rounds so far showed, oldest first.
        labels: The number of labels to forecast for.
        classes: How many classes the task has.
        level: The probability of the intervals.

    >>> seen = [Observation(100, 36, 50, 0.71), Observation(132, 38, 50, 0.75, disagreement=0.08)]
    >>> gain = forecast(seen, 332, classes=2).accuracy_gain
    >>> round(gain.expected, 3), round(gain.low, 3), round(gain.high, 3)
    (0.038, -0.005, 0.099)
    """
    _check(seen, labels, classes, level)
    measured, several = [observation for observation in seen if observation.n], seen[-1].multi_label
    if not measured and all(observation.disagreement is None for observation in seen[1:]):
        return None
    if several and not _with_f1(measured):
        return None
    now, points, normal = seen[-1].labels, _points(), _normal_points()
    pace, floor, spread = _pace(seen, classes)
    share, wander = (MULTI_LABEL_SHARE, MULTI_LABEL_WANDER) if several else (SHARE, WANDER)
    shares = share * np.exp(spread * normal[0])
    if measured:
        shares = _posterior(shares, points[0], measured, pace, floor, wander, classes)
        last = measured[-1]
        error = np.maximum(_errors(last.right, last.n) - shares * _growth(pace, last.labels, now, classes), 0.0)
    else:
        error = np.ones(POINTS)
    gain = np.minimum(shares * _growth(pace, now, labels, classes), error)
    deviation = math.sqrt(_variance(pace, floor, wander, now, labels))
    chance = deviation * normal[2]
    middle, width = _measured_ratio(measured) if several else _f1_ratio(measured, classes)
    ratio = np.exp(middle + width * normal[3])

    def f1_error(error: Draws) -> Draws:
        # A model that predicts a single class has the lowest possible macro-F1 for its accuracy.
        return np.asarray(np.minimum(ratio * error, 1 - 2 * (1 - error) / (2 - error) / classes))

    if several:
        f1_now = _micro_f1_errors(measured, normal[3])
        f1_then = np.maximum(f1_now - ratio * gain, 0.0)
    else:
        f1_now, f1_then = f1_error(error), f1_error(error - gain)
    f1_gain = f1_now - f1_then if measured else ratio * gain
    drift = _ratio_drift(middle, now, labels, classes) if measured else 0.0
    f1_chance = np.hypot(ratio * deviation, drift * f1_then) * normal[2]

    def interval(learnt: Draws, chance: Draws, least: float) -> Interval:
        expected = float(np.clip(learnt, least, 1.0).mean())
        # Quantiles of sorted values: a vectorised sort takes half the time of `np.quantile`.
        ordered = np.sort(np.clip(learnt + chance, least, 1.0))
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], np.linspace(0, 1, POINTS), ordered)
        return Interval(expected, min(float(low), expected), max(float(high), expected))

    return Forecast(
        labels,
        interval(1 - error + gain, chance, 0.0) if measured else None,
        interval(1 - f1_then, f1_chance, 0.0) if measured else None,
        interval(gain, chance, -1.0),
        interval(f1_gain, f1_chance, -1.0),
    )


def _pace(seen: Sequence[Observation], classes: int) -> tuple[float, float, float]:
    """The disagreement per unit of log labels, its constant part per round, and the spread of log(SHARE · pace)."""
    from scipy.optimize import nnls

    pairs = [(a.labels, b.labels, b.disagreement) for a, b in pairwise(seen)]
    told = [(first, math.log(second / first), share) for first, second, share in pairs if share is not None]
    if not told:
        last = next(observation for observation in reversed(seen) if observation.n)
        error = (1 + last.n - last.right) / (2 + last.n)
        first = FIRST_PACE * max(seen[-1].labels / classes, 1.0) ** POWER
        pace = error * (first if len(seen) == 1 else BLIND_PACE) + MIN_PACE
        return pace, BLIND_FLOOR, math.hypot(SHARE_SPREAD, BLIND_SPREAD)
    recent = told[-max(5, sum(5 * first >= seen[-1].labels for first, _, _ in told)) :]
    # A pseudo-observation without a constant part regularises it towards 0.
    steps = np.array([*([step, 1.0] for _, step, _ in recent), [0.0, 1.0]])
    (pace, floor), _ = nnls(steps, np.array([*(share for _, _, share in recent), 0.0]))
    return float(pace) + MIN_PACE, float(floor), math.hypot(SHARE_SPREAD, PACE_SPREAD / math.sqrt(len(recent)))


def _growth(pace: float, since: int, until: int, classes: int) -> float:
    """The gain from `since` to `until` labels, per SHARE; up to one label per class, the share does not fall."""
    before = math.log(min(until, classes) / since) if since < classes else 0.0
    start, end = max(since, classes), max(until, classes)
    return float(pace * (before + (start / classes) ** -POWER * (1 - (start / end) ** POWER) / POWER))


def _variance(pace: float, floor: float, wander: float, since: int, until: int) -> float:
    """How far accuracy moves by chance alone."""
    return wander * pace * math.log(until / since) + RESTART * floor if until > since else 0.0


def _ratio_drift(log_ratio: float, since: int, until: int, classes: int) -> float:
    """The standard deviation of the logarithm of the ratio of errors: rare classes are learnt at their own pace."""
    drift = RATIO_DRIFT * max(0.0, log_ratio)
    return float(drift * (since / classes) ** -POWER * math.sqrt(1 - (since / until) ** POWER))


def _posterior(
    shares: Draws,
    quantiles: Draws,
    measured: Sequence[Observation],
    pace: float,
    floor: float,
    wander: float,
    classes: int,
) -> Draws:
    """The posterior of the shares at these quantiles, given the change of accuracy since a quarter of the labels.

    The validation texts are the same, so the uncertainty of the change depends only on how many predictions changed.
    """
    last = measured[-1]
    first = next(observation for observation in measured if 4 * observation.labels >= last.labels)
    if first is last:
        return shares
    errors = [(1 + seen.n - seen.right) / (2 + seen.n) for seen in (first, last)]
    changed = min(sum(errors), pace * math.log(last.labels / first.labels) + floor)
    shares = np.sort(shares)
    expected = shares * _growth(pace, first.labels, last.labels, classes)
    sampling = changed / min(first.n, last.n) + _variance(pace, floor, wander, first.labels, last.labels)
    variance = sampling + (SHARE_DRIFT * expected) ** 2
    change = last.right / last.n - first.right / first.n
    log_likelihood = -0.5 * ((change - expected) ** 2 / variance + np.log(variance))
    weights = np.cumsum(np.exp(log_likelihood - log_likelihood.max()))
    return np.interp(quantiles, weights / weights[-1], shares)


def _f1_ratio(measured: Sequence[Observation], classes: int) -> tuple[float, float]:
    """The mean and the standard deviation of log(error in macro-F1 / error in accuracy).

    The prior is computed from the last texts per class. It is combined with what the rounds since half of the labels
    measured, if every class has enough texts.
    """
    counted = [seen for seen in measured if len(seen.support) == classes]
    if counted:
        mean, deviation = log_error_ratio(counted[-1].support)
        told = [seen for seen in counted if min(seen.support) >= MIN_SUPPORT]
    else:
        mean, deviation = (0.1, 0.2) if classes > 4 else (0.25, 0.5)
        told = [seen for seen in measured if seen.n >= TEXTS_PER_CLASS * classes]
    told = [seen for seen in told if seen.f1 is not None and 2 * seen.labels >= measured[-1].labels]
    if not told:
        return mean, deviation
    wrong = [1 + seen.n - seen.right for seen in told]
    shown = math.log(sum(1 + seen.n * (1 - (seen.f1 or 0.0)) for seen in told) / sum(wrong))
    variance = 0.05**2 + (0.3 * shown**2 + 0.03) / wrong[-1]
    if not counted:
        return shown, math.sqrt(variance)
    weight = deviation**2 / (deviation**2 + variance)
    return mean + weight * (shown - mean), math.sqrt(weight * variance)


def _measured_ratio(measured: Sequence[Observation]) -> tuple[float, float]:
    """As `_f1_ratio` for several labels per text: what the rounds since half of the labels measured, and nothing else.

    The rounds share their validation texts, so together they are as uncertain as the last one.
    """
    told = [seen for seen in _with_f1(measured) if 2 * seen.labels >= measured[-1].labels] or _with_f1(measured)[-1:]
    wrong = sum(1 + seen.n - seen.right for seen in told)
    shown = math.log(sum(1 + seen.n * (1 - (seen.f1 or 0.0)) for seen in told) / wrong)
    return shown, math.hypot(0.05, _micro_f1_error(told[-1])[1])


def _micro_f1_errors(measured: Sequence[Observation], normal: Draws) -> Draws:
    """The posterior of the error in micro-F1 at these quantiles: what the last round with enough texts measured."""
    error, deviation = _micro_f1_error(_with_f1(measured)[-1])
    return np.asarray(np.minimum(error * np.exp(MICRO_F1_SPREAD * deviation * normal), 1.0))


def _micro_f1_error(seen: Observation) -> tuple[float, float]:
    """The error in micro-F1, and the standard deviation of its logarithm by its interval."""
    low, high = seen.f1_interval or (0.0, 1.0)
    error = max(1 - (seen.f1 or 0.0), (high - low) / 4)
    return error, (high - low) / (2 * Z) / error


def _with_f1(measured: Sequence[Observation]) -> list[Observation]:
    return [seen for seen in measured if seen.f1 is not None]


@lru_cache(maxsize=256)  # 8 MB at most; the runs of all our benchmarks need 230
def _errors(right: int, n: int) -> Draws:
    """Quantiles of the error's posterior, at the points of one dimension."""
    from scipy.special import betaincinv

    return np.asarray(betaincinv(1 + n - right, 1 + right, _points()[1]))


@cache
def _normal_points() -> Draws:
    """The points as quantiles of a standard normal distribution."""
    from scipy.special import ndtri

    return np.asarray(ndtri(_points()))


@cache
def _points() -> Draws:
    """Fixed low-discrepancy points in the four-dimensional unit cube: quantiles for quasi-Monte Carlo integration.

    The first dimension is in ascending order, in which `np.interp` finds quantiles ten times as fast.
    """
    primes = np.array([2.0, 3.0, 5.0, 7.0])
    points = np.sqrt(primes)[:, None] * np.arange(1, POINTS + 1) % 1.0
    return np.asarray(points[:, np.argsort(points[0])], dtype=np.float64)


def _check(seen: Sequence[Observation], labels: int, classes: int, level: float) -> None:
    if not seen:
        raise UserError("A forecast needs at least one round.")
    if any(after.labels <= before.labels for before, after in pairwise(seen)):
        raise UserError("A forecast needs rounds in order, each with more labels than the one before.")
    if labels < seen[-1].labels:
        raise UserError(f"A forecast looks ahead: give at least the current {seen[-1].labels} labels, not {labels}.")
    if classes < 2:
        raise UserError(f"A forecast needs at least two classes, not {classes}.")
    if not 0 < level < 1:
        raise UserError(f"The level of an interval must lie between 0 and 1, not {level}.")
