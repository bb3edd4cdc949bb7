from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hybridal.errors import UserError
from hybridal.measures import forecast as module
from hybridal.measures.forecast import Forecast, Interval, Observation, forecast

SHARES = st.floats(0, 1)


@st.composite
def rounds(draw: st.DrawFn) -> list[Observation]:
    steps = draw(st.lists(st.integers(1, 200), min_size=1, max_size=8))
    labels = np.cumsum(steps).tolist()
    n = draw(st.sampled_from([0, 1, 25, 50, 500]))
    seen = []
    for i, m in enumerate(labels):
        size = n if draw(st.booleans()) else 0
        right = draw(st.integers(0, size))
        disagreement = draw(st.none() | SHARES) if i else None
        seen.append(Observation(m, right, size, draw(st.none() | SHARES), disagreement))
    return seen


def with_support(seen: list[Observation], classes: int, skew: float) -> list[Observation]:
    """The same with the texts of each class, of which the first has the share `skew` and the others equal shares."""
    found = []
    for each in seen:
        first = round(skew * each.n)
        support = (first, *(part.size for part in np.array_split(np.zeros(each.n - first), classes - 1)))
        found.append(replace(each, support=support if each.n else ()))
    return found


def told(seen: list[Observation], labels: int, classes: int = 2, level: float = 0.9) -> Forecast:
    found = forecast(seen, labels, classes, level)
    assert found is not None
    return found


def intervals(found: Forecast) -> list[Interval]:
    levels = [] if found.accuracy is None or found.f1 is None else [found.accuracy, found.f1]
    return [*levels, found.accuracy_gain, found.f1_gain]


def falling(pace: float = 0.5, floor: float = 0.0, right: int = 40, n: int = 50) -> list[Observation]:
    """Rounds with falling disagreement and constant validation scores."""
    labels = range(100, 500, 32)
    first = Observation(labels[0], right, n, 0.8)
    shares = [floor + pace * math.log(b / a) for a, b in itertools.pairwise(labels)]
    return [first, *(Observation(m, right, n, 0.8, share) for m, share in zip(labels[1:], shares, strict=True))]


@settings(max_examples=100, deadline=None)
@given(rounds(), st.integers(2, 150), st.integers(0, 3000), st.integers(1, 3000), st.none() | SHARES)
def test_forecast_intervals_are_ordered_and_bounded(
    seen: list[Observation], classes: int, ahead: int, further: int, skew: float | None
) -> None:
    now = seen[-1].labels
    if skew is not None:
        seen = with_support(seen, classes, skew)
    found = forecast(seen, now + ahead, classes)
    known = any(o.n for o in seen)
    assert (found is None) == (not known and all(o.disagreement is None for o in seen))
    if found is None:
        return
    assert found == forecast(seen, now + ahead, classes)
    assert (found.accuracy is not None) == (found.f1 is not None) == known
    later, sure = told(seen, now + ahead + further, classes), told(seen, now + ahead, classes, level=0.99)
    for each, then, wider in zip(intervals(found), intervals(later), intervals(sure), strict=True):
        assert -1 <= each.low <= each.expected <= each.high <= 1
        assert then.expected >= each.expected - 1e-12  # more labels never make a model worse
        assert wider.low <= each.low
        assert each.high <= wider.high
    for level in (found.accuracy, found.f1):
        assert level is None or level.low >= 0
    if found.accuracy is not None and found.f1 is not None:
        start = told(seen, now, classes)
        assert start.accuracy is not None
        assert start.f1 is not None
        assert found.accuracy_gain.expected <= 1 - start.accuracy.expected + 1e-9  # no more than what is left
        assert found.f1_gain.expected <= 1 - start.f1.expected + 1e-9
    if ahead == 0:
        assert found.accuracy_gain == found.f1_gain == Interval(0.0, 0.0, 0.0)


@pytest.mark.parametrize(("right", "n"), [(40, 50), (25, 25), (0, 25), (431, 500)])
def test_current_accuracy_is_the_posterior_of_the_counts(right: int, n: int) -> None:
    now = told([Observation(100, right, n)], 100).accuracy
    posterior = stats.beta(right + 1, n - right + 1)
    assert now is not None
    assert (now.low, now.high) == pytest.approx(posterior.interval(0.9), abs=2e-3)
    assert now.expected == pytest.approx(posterior.mean(), abs=1e-3)


def test_gain_equals_a_simulation() -> None:
    seen = [replace(o, right=0, n=0, f1=None) for o in falling(pace=0.6, floor=0.01)]
    found, now = told(seen, 900, classes=4).accuracy_gain, seen[-1].labels
    pace, floor, spread = module._pace(seen, 3)
    rng = np.random.default_rng(0)
    shares = module.SHARE * np.exp(spread * rng.normal(size=400_000))
    # What is gained at each label on the way, one by one.
    way = np.arange(now, 900) + 0.5
    gains = shares * (pace / way * (way / 4) ** -module.POWER).sum()
    noise = math.sqrt(module.WANDER * pace * math.log(900 / now) + module.RESTART * floor)
    assert found.expected == pytest.approx(gains.mean(), rel=0.01)
    simulated = np.quantile(gains + noise * rng.normal(size=gains.size), [0.05, 0.95])
    assert (found.low, found.high) == pytest.approx(tuple(simulated), abs=2e-3)


@pytest.mark.parametrize("pace", [0.0, 0.05, 1.0])
def test_the_pace_is_found_whatever_the_steps(pace: float) -> None:
    labels = [50, 66, 98, 100, 180, 250]
    shares = [pace * math.log(b / a) for a, b in itertools.pairwise(labels)]
    seen = [Observation(50), *(Observation(m, disagreement=d) for m, d in zip(labels[1:], shares, strict=True))]
    found, floor, _ = module._pace(seen, 3)
    assert found - module.MIN_PACE == pytest.approx(pace)
    assert floor == pytest.approx(0, abs=1e-12)


def test_disagreement_that_does_not_fall_is_taken_for_chance() -> None:
    labels = range(100, 1000, 32)
    still = [Observation(m, disagreement=0.05 if m > 100 else None) for m in labels]
    _, floor, _ = module._pace(still, 3)
    assert floor > 0.035
    usual = told([replace(o, disagreement=1.5 * 32 / o.labels) if o.disagreement else o for o in still], 1100)
    noise = told(still, 1100)
    assert noise.accuracy_gain.expected < usual.accuracy_gain.expected / 3
    assert noise.accuracy_gain.low < 0


@pytest.mark.parametrize(("first", "last"), [(30, 45), (40, 40), (45, 30)])
def test_validation_updates_the_share_by_bayes_rule(first: int, last: int) -> None:
    before, now = Observation(100, first, 50), Observation(300, last, 50)
    points = module._points()[0]
    draws = 0.33 * np.exp(0.6 * stats.norm.ppf(points))
    found = module._posterior(draws, points, [before, now], pace=0.8, floor=0.01, wander=module.WANDER, classes=3)
    grid = np.exp(np.linspace(-6, 3, 20_001))
    prior = stats.norm.pdf(np.log(grid), math.log(0.33), 0.6)
    expected = grid * module._growth(0.8, 100, 300, 3)
    changed = min((51 - first) / 52 + (51 - last) / 52, 0.8 * math.log(3) + 0.01)
    variance = changed / 50 + module.WANDER * 0.8 * math.log(3) + module.RESTART * 0.01 + (0.5 * expected) ** 2
    weights = prior * stats.norm.pdf((last - first) / 50, expected, np.sqrt(variance))
    assert found.mean() == pytest.approx((grid * weights).sum() / weights.sum(), rel=0.01)


def test_with_less_than_one_label_per_class_the_share_of_gain_stays_that_of_one_label() -> None:
    assert module._growth(0.8, 10, 40, 40) == pytest.approx(0.8 * math.log(4))
    parts = module._growth(0.8, 10, 40, 40) + module._growth(0.8, 40, 160, 40)
    assert module._growth(0.8, 10, 160, 40) == pytest.approx(parts)


@pytest.mark.parametrize(("right", "f1", "came"), [(184, 0.597, 0.138), (35, 0.089, 0.114)])
def test_forecast_of_the_first_round_with_many_classes_contains_what_was_measured(
    right: int, f1: float, came: float
) -> None:
    # 64 classes of banking77 with `minilm` and with `tiny`: macro-F1 after 120 labels
    found = told([Observation(20, right, 300, f1, support=(5,) * 44 + (4,) * 20)], 120, classes=64)
    assert found.f1_gain.low <= came <= found.f1_gain.high


def test_forecast_responds_to_labels_and_disagreement() -> None:
    ahead = 600
    usual = told(falling(), ahead)
    assert told(falling(pace=1.0), ahead).accuracy_gain.expected > 1.5 * usual.accuracy_gain.expected
    rising = [replace(o, right=20 + 2 * i) for i, o in enumerate(falling(right=20))]
    assert told(rising, ahead).accuracy_gain.expected > told(falling(right=44), ahead).accuracy_gain.expected
    assert told(falling(), ahead, classes=50).accuracy_gain.expected > usual.accuracy_gain.expected
    many = told(falling(right=400, n=500), ahead).accuracy
    assert many is not None
    assert usual.accuracy is not None
    assert many.high - many.low < 0.6 * (usual.accuracy.high - usual.accuracy.low)


def test_validation_without_a_mistake_stays_modest() -> None:
    found = told(falling(right=50), 600)
    assert found.accuracy is not None
    assert found.f1 is not None
    assert 0.9 < found.accuracy.low < found.accuracy.expected < 1
    assert found.f1.low < found.accuracy.low
    assert found.accuracy_gain.expected < 0.02


def test_one_round_gives_a_wide_forecast_and_none_without_validation() -> None:
    alone = told([Observation(100, 40, 50, 0.8)], 200)
    assert alone.accuracy_gain.high - alone.accuracy_gain.low > 0.05
    assert forecast([Observation(100)], 200, 2) is None


def test_a_rare_class_lowers_f1_and_widens_it() -> None:
    rare = told([replace(o, right=46, f1=0.7) for o in falling()], 600)
    even = told([replace(o, right=46, f1=0.92) for o in falling()], 600)
    assert rare.accuracy == even.accuracy
    assert rare.f1 is not None
    assert even.f1 is not None
    assert rare.f1.expected < even.f1.expected
    assert rare.f1.high - rare.f1.low > 2 * (even.f1.high - even.f1.low)
    assert rare.f1_gain.expected > 2 * even.f1_gain.expected


def test_a_level_measured_before_the_last_round_is_carried_on() -> None:
    seen = falling()
    lapsed = [*seen[:-3], *(replace(o, right=0, n=0, f1=None) for o in seen[-3:])]
    now, then = told(lapsed, seen[-1].labels), told(seen[:-3], seen[-1].labels)
    assert now.accuracy is not None
    assert then.accuracy is not None
    assert now.accuracy.expected == pytest.approx(then.accuracy.expected, abs=5e-3)


def test_macro_f1_of_few_texts_per_class_is_ignored() -> None:
    one, other = ([replace(o, f1=f1) for o in falling()] for f1 in (0.2, 0.9))
    assert told(one, 600, classes=20) == told(other, 600, classes=20)


def skewed(support: tuple[int, ...], right: int, f1: float) -> list[Observation]:
    n = sum(support)
    return [Observation(m, right, n, f1, 0.03 if m > 48 else None, support) for m in (48, 64, 80)]


def test_a_forecast_without_some_classes_in_validation_allows_for_a_large_gain() -> None:
    """Three skewed classes: 100 labels brought 7.3 points where 0.7 (-0.9 to 2.8) were forecast."""
    seen = skewed((12, 0, 0), right=12, f1=1.0)
    blind = told([replace(o, support=(), f1=1 / 3) for o in seen], 180, classes=3)
    found = told(seen, 180, classes=3)
    assert blind.f1_gain.high < 0.073 < found.f1_gain.high
    assert found.f1 is not None
    assert found.f1.low < 0.5  # a model that knows the frequent class only would look the same


@pytest.mark.parametrize("rare", [1, 2, 3])
def test_more_validation_texts_narrow_the_f1_interval(rare: int) -> None:
    widths = []
    for times in (1, 2, 5, 20):
        support = (times * (10 - rare), times * rare)
        found = told(skewed(support, right=9 * times, f1=0.8), 80).f1
        assert found is not None
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 2


def test_a_measured_f1_counts_where_every_class_has_texts() -> None:
    low, high = (told(skewed((16, 4), right=18, f1=f1), 80).f1 for f1 in (0.6, 0.9))
    assert low is not None
    assert high is not None
    assert high.expected > low.expected + 0.05
    lacking = [told(skewed((19, 1), right=18, f1=f1), 80) for f1 in (0.6, 0.9)]
    assert lacking[0] == lacking[1]


def test_the_support_of_fewer_classes_is_not_used() -> None:
    seen = skewed((20, 4), right=20, f1=0.7)
    assert told(seen, 180, classes=3) == told([replace(o, support=()) for o in seen], 180, classes=3)


def test_macro_f1_is_never_forecast_below_that_of_a_single_class() -> None:
    found = told(skewed((20, 0), right=20, f1=1.0), 80).f1
    assert found is not None
    assert found.low > 0.4


def synthetic(rng: np.random.Generator, n: int) -> tuple[list[Observation], float, float]:
    """Rounds of a learner as the module takes it to be, and its true accuracy now and 200 labels later."""
    labels, end = np.arange(60, 60 + 32 * rng.integers(3, 20), 32), 200
    pace, classes, first = rng.uniform(0.1, 0.8), 4, rng.uniform(0.4, 0.7)
    share = module.SHARE * math.exp(module.SHARE_SPREAD * rng.normal())

    def accuracy(m: int) -> float:
        return float(first + share * module._growth(pace, 60, m, classes))

    hard = np.sort(rng.uniform(size=n))  # each text is answered correctly from some accuracy on
    seen: list[Observation] = []
    for i, m in enumerate(labels.tolist()):
        moved = rng.binomial(1000, pace * math.log(m / labels[i - 1])) / 1000 if i else None
        seen.append(Observation(m, int((hard < accuracy(m)).sum()), n, None, moved))
    now = seen[-1].labels
    wander = math.sqrt(module.WANDER * pace * math.log((now + end) / now)) * rng.normal()
    return seen, accuracy(now), accuracy(now + end) + wander


@pytest.mark.parametrize("n", [50, 500])
def test_intervals_hold_the_truth_as_often_as_they_say(n: int) -> None:
    rng = np.random.default_rng(n)
    inside = []
    for _ in range(200):
        seen, now, then = synthetic(rng, n)
        found = told(seen, seen[-1].labels + 200, classes=4)
        assert found.accuracy is not None
        gain = found.accuracy_gain
        inside.append((found.accuracy.low <= then <= found.accuracy.high, gain.low <= then - now <= gain.high))
    for held in np.mean(inside, axis=0):
        assert 0.85 <= held <= 0.97


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"labels": 0}, "at least one label, not 0"),
        ({"labels": 5, "right": 6, "n": 5}, "Of 5 validation texts, 6 cannot be right"),
        ({"labels": 5, "right": -1, "n": 5}, "-1 cannot be right"),
        ({"labels": 5, "right": 1, "n": 4, "support": (3, 2)}, "add up to 5, not to the 4 validation texts"),
        ({"labels": 5, "f1": 1.2}, "F1 must lie between 0 and 1, not 1.2"),
        ({"labels": 5, "disagreement": math.nan}, "disagreement must lie between 0 and 1, not nan"),
    ],
)
def test_invalid_observations_are_refused(bad: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Observation(**bad)


@pytest.mark.parametrize(
    ("seen", "labels", "classes", "level", "sentence"),
    [
        ([], 100, 2, 0.9, "at least one round"),
        ([Observation(50, 1, 2), Observation(50, 1, 2)], 100, 2, 0.9, "rounds in order"),
        ([Observation(50, 1, 2)], 49, 2, 0.9, "at least the current 50 labels, not 49"),
        ([Observation(50, 1, 2)], 60, 1, 0.9, "two classes, not 1"),
        ([Observation(50, 1, 2)], 60, 2, 1.0, "between 0 and 1, not 1.0"),
    ],
)
def test_invalid_forecast_requests_are_refused(
    seen: list[Observation], labels: int, classes: int, level: float, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        forecast(seen, labels, classes, level)


def several(labels: int, right: int, f1: float | None, disagreement: float | None = None) -> Observation:
    """An observation with several labels per text, of 100 validation texts."""
    bounds = None if f1 is None else (f1 - 0.1, f1 + 0.1)
    support = (60, 50, 30)  # more than there are texts
    return Observation(labels, right, 100, f1, disagreement, support, bounds, multi_label=True)


def test_with_several_labels_the_measured_micro_f1_is_the_start() -> None:
    # Few exact matches, and yet a good micro-F1: what one label per text suggests of their ratio would be far off.
    found = forecast([several(100, 35, 0.68), several(150, 40, 0.71, 0.1)], 250, classes=3)
    assert found is not None
    assert found.f1 is not None
    assert found.f1.expected - found.f1_gain.expected == pytest.approx(0.7, abs=0.02)
    assert 0 < found.f1_gain.expected < 0.1
    assert found.f1_gain.low < found.f1_gain.expected < found.f1_gain.high


def test_with_several_labels_micro_f1_is_as_uncertain_as_its_measurement() -> None:
    """The few exact matches of validation add nothing to that."""
    found = forecast([several(100, 35, 0.68), several(150, 40, 0.71, 0.1)], 150, classes=3)
    assert found is not None
    assert found.f1 is not None
    assert 0.1 < found.f1.high - found.f1.low < 0.2 * 1.645 / 1.96  # 0.2 are 95% of its measurement


def test_with_several_labels_there_is_no_forecast_before_micro_f1_is_known() -> None:
    assert forecast([several(100, 35, None), several(150, 40, None, 0.1)], 250, classes=3) is None
    bare = [Observation(100, multi_label=True), Observation(150, disagreement=0.1, multi_label=True)]
    assert forecast(bare, 250, classes=3) is None
    assert forecast([several(100, 35, 0.68), several(150, 40, None, 0.1)], 250, classes=3) is not None


def test_with_several_labels_less_of_a_disagreement_is_gain() -> None:
    # Whole sets change more often than single classes.
    rounds = [(100, 40, 0.6, None), (150, 43, 0.62, 0.3)]
    one = [Observation(labels, right, 100, f1, changed) for labels, right, f1, changed in rounds]
    gains = [forecast(seen, 250, classes=3) for seen in (one, [several(*each) for each in rounds])]
    assert gains[0] is not None
    assert gains[1] is not None
    assert gains[1].accuracy_gain.expected < gains[0].accuracy_gain.expected / 2
