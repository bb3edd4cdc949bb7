import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired  # type: ignore[import-untyped]

from hybridal.errors import UserError
from hybridal.evidence.statistics.paired import equivalence, noninferiority

from .samples import Pair, pairs, study

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
def test_where_there_is_no_test_it_says_so(new: list[float], reference: list[float]) -> None:
    one, both = noninferiority(new, reference, MARGINS[:2]), equivalence(new, reference, MARGINS[:2])
    for found in (one, both):
        assert found.p == found.passes == (None, None)
        assert found.smallest_margin is None
        assert found.note
    assert one.bound is both.low is both.high is None


def test_bad_input() -> None:
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
