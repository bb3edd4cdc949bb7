from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.measures.stabilisation import Stabilisation
from hybridal.signals.accuracy import Accuracy

EPSILONS = st.sampled_from([0.005, 1e-4, 0.1 + 0.2, 5e-324, 1e300])
PATIENCE = st.integers(1, 4)


def definition_1(changes: list[float | None], epsilon: float, k: int) -> int | None:
    """t* = min { t >= k | max over i in [t-k+1, t] of ΔS_i < ε }; an undefined change is infinite."""
    delta = {t: math.inf if change is None else change for t, change in enumerate(changes, start=1)}
    stable = [t for t in delta if t >= k and max(delta[i] for i in range(t - k + 1, t + 1)) < epsilon]
    return min(stable, default=None)


def algorithm_1(changes: list[float | None], epsilon: float, k: int) -> tuple[list[int], int | None]:
    """Lines 1 and 12-18: stable_count after each round, and the round in which s becomes FineTune."""
    s, stable_count, counts, switched = "Retrain", 0, [], None
    for t, change in enumerate(changes, start=1):
        if change is not None and change < epsilon:
            stable_count = stable_count + 1
            if stable_count >= k and s == "Retrain":
                s, switched = "FineTune", t
        else:
            stable_count = 0
        counts.append(stable_count)
    return counts, switched


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[float | None], float]:
    epsilon = draw(EPSILONS)
    near = [0.0, epsilon / 2, math.nextafter(epsilon, 0), epsilon, math.nextafter(epsilon, math.inf), math.inf, None]
    change = st.sampled_from(near) | st.floats(0, 2 * epsilon)
    return draw(st.lists(change, max_size=14)), epsilon


@settings(deadline=None, max_examples=300)
@given(sequences(), PATIENCE)
def test_the_detector_is_definition_1_and_the_counter_of_algorithm_1(
    case: tuple[list[float | None], float], k: int
) -> None:
    changes, epsilon = case
    detector = Stabilisation(epsilon, k)
    counts, switched = algorithm_1(changes, epsilon, k)
    assert detector.streaks(changes) == counts
    assert detector.t_star(changes) == switched == definition_1(changes, epsilon, k)


@settings(deadline=None)
@given(sequences(), PATIENCE)
def test_later_rounds_do_not_change_decisions(case: tuple[list[float | None], float], k: int) -> None:
    changes, epsilon = case
    detector = Stabilisation(epsilon, k)
    found = detector.t_star(changes)
    assert [detector.t_star(changes[:t]) for t in range(len(changes) + 1)] == [
        found if found is not None and found <= t else None for t in range(len(changes) + 1)
    ]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_first_round_is_never_stable_so_t_star_is_k_plus_1_at_the_earliest(k: int) -> None:
    assert Stabilisation(0.5, k).t_star([None, *[0.0] * 9]) == k + 1


def change_of(before: int, now: int, n: int) -> float:
    def snapshot(right: int) -> dict[str, np.ndarray]:
        return {"right": np.array(right), "n": np.array(n)}

    return Accuracy().change(snapshot(before), snapshot(now))


def test_six_of_1200_answers_are_not_below_0_005_and_five_are() -> None:
    detector = Stabilisation(0.005, 1)
    for right in range(1200 - 6 + 1):
        for before, now in ((right, right + 6), (right + 6, right)):
            assert detector.t_star([None, change_of(before, now, 1200)]) is None
    for right in range(1200 - 5 + 1):
        assert detector.t_star([None, change_of(right, right + 5, 1200)]) == 2


@settings(deadline=None, max_examples=300)
@given(st.integers(1, 5000), st.integers(1, 999), st.integers(1, 4), st.data())
def test_a_tie_of_counts_is_a_tie_whatever_the_decimals(n: int, digits: int, places: int, data: st.DataObject) -> None:
    epsilon = Fraction(digits, 10**places)
    before, now = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    if (tie := epsilon * n).denominator == 1 and tie <= n:
        before, now = data.draw(st.sampled_from([(0, int(tie)), (n, n - int(tie)), (before, now)]))
    detector = Stabilisation(float(f"{digits}e-{places}"), 1)
    stable = detector.t_star([None, change_of(before, now, n)]) == 2
    assert stable == (Fraction(abs(now - before), n) < epsilon)


@pytest.mark.parametrize("epsilon", [0.0, -0.1, math.nan, math.inf, -math.inf])
def test_a_threshold_that_cannot_be_crossed_is_refused(epsilon: float) -> None:
    with pytest.raises(UserError, match=f"`epsilon` must be .*not {epsilon}"):
        Stabilisation(epsilon, 2)


@pytest.mark.parametrize("patience", [0, -1])
def test_a_patience_below_one_is_refused(patience: int) -> None:
    with pytest.raises(UserError, match=f"`patience` must be at least 1, not {patience}"):
        Stabilisation(0.1, patience)
