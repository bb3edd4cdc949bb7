import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired  # type: ignore[import-untyped]

from hybridal.errors import UserError
from hybridal.evidence.statistics.paired import equivalence, noninferiority, paired_test

from .samples import Pair, pairs, study


@pytest.mark.parametrize("n", [2, 3, 5, 90])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_it_is_scipys(n: int, confidence: float) -> None:
    new, reference = study(n)
    found, known = paired_test(new, reference, confidence), stats.ttest_rel(new, reference)
    interval = known.confidence_interval(confidence)
    assert (found.n, found.df, found.note) == (n, known.df, "")
    assert [found.t, found.p, found.low, found.high] == pytest.approx(
        [known.statistic, known.pvalue, interval.low, interval.high], rel=1e-9
    )


@given(pairs, st.floats(0.01, 0.99))
def test_the_interval_excludes_zero_exactly_where_the_test_is_significant(pair: Pair, confidence: float) -> None:
    new, reference = pair
    found = paired_test(new, reference, confidence)
    assume(found.p is not None)
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert found.p == pytest.approx(float(stats.ttest_rel(new, reference).pvalue), rel=1e-7)
    assume(abs(found.p - (1 - confidence)) > 1e-9)
    assert (found.low > 0 or found.high < 0) == (found.p < 1 - confidence)


@given(pairs)
def test_swapping_turns_the_sign(pair: Pair) -> None:
    new, reference = pair
    found, turned = paired_test(new, reference), paired_test(reference, new)
    assert found.p == turned.p
    assert found.t is None or found.t == -turned.t  # type: ignore[operator]
    assert found.low is None or found.low == -turned.high  # type: ignore[operator]


@pytest.mark.parametrize(
    ("new", "reference", "mean", "note"),
    [
        ([], [], None, "there are no pairs"),
        ([0.75], [0.5], 0.25, "one pair says nothing about the spread"),
        ([0.3, 0.4], [0.3, 0.4], 0.0, "all differences are equal"),
        ([0.3, 0.4], [0.2, 0.3], pytest.approx(0.1), "all differences are equal"),
    ],
)
def test_where_there_is_no_test_it_says_so(
    new: list[float], reference: list[float], mean: float | None, note: str
) -> None:
    found = paired_test(new, reference)
    assert (found.mean, found.note) == (mean, note)
    assert (found.t, found.df, found.p, found.low, found.high) == (None,) * 5
    assert not any(isinstance(value, float) and np.isnan(value) for value in dataclasses.astuple(found))


def test_bad_input() -> None:
    with pytest.raises(UserError, match="new: number 2"):
        paired_test([1, float("nan")], [1, 2])
    with pytest.raises(UserError, match="confidence must lie between 0 and 1"):
        paired_test([1, 2], [1, 3], confidence=95)


MARGINS = [0.0, 0.001, 0.005, 0.01, 0.05]


@pytest.mark.parametrize("n", [2, 5, 90])
def test_one_side_is_scipys_shifted_test(n: int) -> None:
    new, reference = study(n)
    found = noninferiority(new, reference, MARGINS)
    known = [stats.ttest_1samp(new - reference, -margin, alternative="greater") for margin in MARGINS]
    assert found.p == pytest.approx([float(one.pvalue) for one in known], rel=1e-9)
    assert found.bound == pytest.approx(float(known[0].confidence_interval(0.95).low), rel=1e-9)
    assert found.mean == pytest.approx(float(np.mean(new - reference)))
    assert (found.n, found.margins) == (n, tuple(MARGINS))


@pytest.mark.parametrize("n", [2, 5, 90])
def test_the_other_side_is_for_measures_that_should_be_low(n: int) -> None:
    new, reference = study(n)
    found = noninferiority(new, reference, MARGINS, alpha=0.1, higher_is_better=False)
    known = [stats.ttest_1samp(new - reference, margin, alternative="less") for margin in MARGINS]
    assert found.p == pytest.approx([float(one.pvalue) for one in known], rel=1e-9)
    assert found.bound == pytest.approx(float(known[0].confidence_interval(0.9).high), rel=1e-9)
    mirrored = noninferiority(-new, -reference, MARGINS, alpha=0.1)
    assert (found.p, found.passes, found.smallest_margin) == (mirrored.p, mirrored.passes, mirrored.smallest_margin)


@pytest.mark.parametrize("shift", [-0.004, 0.0, 0.004])
def test_equivalence_is_statsmodels(shift: float) -> None:
    new, reference = study(30, shift)
    found = equivalence(new, reference, MARGINS)
    known = [float(ttost_paired(new, reference, -margin, margin)[0]) for margin in MARGINS]
    assert found.p == pytest.approx(known, rel=1e-9)
    interval = stats.ttest_rel(new, reference).confidence_interval(0.9)
    assert [found.low, found.high] == pytest.approx([interval.low, interval.high], rel=1e-9)
    assert found.passes == tuple(p <= 0.05 for p in known)


@given(pairs, st.lists(st.floats(0, 2), max_size=5), st.floats(0.01, 0.6), st.booleans())
def test_a_margin_passes_where_p_is_at_most_alpha_and_from_the_smallest_on(
    pair: Pair, margins: list[float], alpha: float, higher: bool
) -> None:
    one, both = noninferiority(*pair, margins, alpha, higher), equivalence(*pair, margins, alpha)
    for found in (one, both):
        assume(found.smallest_margin is not None)
        assert found.smallest_margin is not None
        for margin, p, passes in zip(margins, found.p, found.passes, strict=True):
            assert p is not None
            assert passes == (margin >= found.smallest_margin)
            assert passes == (p <= alpha) or abs(p - alpha) < 1e-9
    assert one.smallest_margin <= both.smallest_margin  # type: ignore[operator]
    again = noninferiority(*pair, [one.smallest_margin], alpha, higher)  # type: ignore[list-item]
    assert again.passes == (True,)


def test_a_positive_bound_is_noninferior_at_any_margin() -> None:
    new, reference = study(90, shift=0.01)
    found = noninferiority(new, reference, [0.0])
    assert found.bound is not None
    assert found.bound > 0
    assert (found.smallest_margin, found.passes) == (0.0, (True,))


def test_the_papers_reading_of_a_bound() -> None:
    """A lower bound of −0.0045 passes 0.005 and 0.010, one of −0.0086 only 0.010 (its table of TOST)."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 90)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * 0.01
    reach = float(stats.t.ppf(0.95, 89)) * 0.01 / np.sqrt(90)
    for bound, passes in [(-0.0045, (True, True)), (-0.0086, (False, True)), (0.0005, (True, True))]:
        found = noninferiority(noise + bound + reach, np.zeros(90), [0.005, 0.010])
        assert found.bound == pytest.approx(bound, abs=1e-9)
        assert found.passes == passes


@pytest.mark.parametrize(("new", "reference"), [([], []), ([0.5], [0.5]), ([0.3, 0.4], [0.2, 0.3]), ([1, 1], [1, 1])])
def test_where_margins_cannot_be_tested_it_says_so(new: list[float], reference: list[float]) -> None:
    one, both = noninferiority(new, reference, MARGINS[:2]), equivalence(new, reference, MARGINS[:2])
    for found in (one, both):
        assert found.p == found.passes == (None, None)
        assert found.smallest_margin is None
        assert found.note
    assert one.bound is both.low is both.high is None


def test_bad_margins() -> None:
    for ask in (noninferiority, equivalence):
        with pytest.raises(UserError, match="a margin δ must be 0 or more"):
            ask([1, 2], [1, 3], [-0.1])
        with pytest.raises(UserError, match="a margin δ"):
            ask([1, 2], [1, 3], [float("nan")])
        with pytest.raises(UserError, match="alpha must lie"):
            ask([1, 2], [1, 3], [0.1], alpha=5)
        with pytest.raises(UserError, match="reference: number 1"):
            ask([1, 2], [float("inf"), 3], [0.1])
    assert noninferiority([1, 2], [1, 3], []).p == ()
