from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired  # type: ignore[import-untyped]

from hybridal.lab.statistics.paired import bootstrap_interval, noninferiority, paired_p
from hybridal.randomness import stream

from .samples import Pair, pairs, study


@pytest.mark.parametrize("n", [2, 3, 5, 90])
def test_paired_t_test_equals_scipy(n: int) -> None:
    new, reference = study(n)
    assert paired_p(new, reference) == pytest.approx(float(stats.ttest_rel(new, reference).pvalue), rel=1e-9)


@given(pairs)
def test_swapping_sides_keeps_p(pair: Pair) -> None:
    assert paired_p(*pair) == paired_p(pair[1], pair[0])


NO_TEST = [([], []), ([0.5], [0.5]), ([0.3, 0.4], [0.2, 0.3]), ([1, 1], [1, 1])]


@pytest.mark.parametrize(("new", "reference"), NO_TEST)
def test_p_is_none_when_no_test_is_possible(new: list[float], reference: list[float]) -> None:
    assert paired_p(new, reference) is None
    found = noninferiority(new, reference, MARGINS[:2])
    assert found.p == found.passes == (None, None)
    assert found.low is found.high is found.equivalent is None


MARGINS = [0.0, 0.001, 0.005, 0.01, 0.05]


@pytest.mark.parametrize("n", [2, 5, 90])
def test_one_sided_test_equals_scipys_shifted_test(n: int) -> None:
    new, reference = study(n)
    found = noninferiority(new, reference, MARGINS)
    known = [stats.ttest_1samp(new - reference, -margin, alternative="greater") for margin in MARGINS]
    assert found.p == pytest.approx([float(one.pvalue) for one in known], rel=1e-9)
    assert found.low == pytest.approx(float(known[0].confidence_interval(0.95).low), rel=1e-9)
    assert found.mean == pytest.approx(float(np.mean(new - reference)))
    assert found.n == n


@pytest.mark.parametrize("shift", [-0.004, 0.0, 0.004])
def test_equivalence_equals_statsmodels(shift: float) -> None:
    new, reference = study(30, shift)
    found = noninferiority(new, reference, [])
    interval = stats.ttest_rel(new, reference).confidence_interval(0.9)
    assert [found.low, found.high] == pytest.approx([interval.low, interval.high], rel=1e-9)
    assert found.equivalent is not None
    assert float(ttost_paired(new, reference, -found.equivalent, found.equivalent)[0]) == pytest.approx(0.05)


@given(pairs, st.lists(st.floats(0, 2), max_size=5), st.floats(0.01, 0.5))
def test_a_margin_passes_where_p_is_at_most_alpha(pair: Pair, margins: list[float], alpha: float) -> None:
    found = noninferiority(*pair, margins, alpha)
    assume(found.equivalent is not None)
    for p, passes in zip(found.p, found.passes, strict=True):
        assert p is not None
        assert passes == (p <= alpha) or abs(p - alpha) < 1e-9
    assert noninferiority(*pair, [found.equivalent], alpha).passes == (True,)  # type: ignore[list-item]


def test_a_positive_bound_is_noninferior_at_any_margin() -> None:
    new, reference = study(90, shift=0.01)
    found = noninferiority(new, reference, [0.0])
    assert found.low is not None
    assert found.low > 0
    assert found.passes == (True,)


def test_the_papers_reading_of_a_bound() -> None:
    """A lower bound of −0.0045 passes 0.005 and 0.010, one of −0.0086 only 0.010 (its table of TOST)."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 90)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * 0.01
    reach = float(stats.t.ppf(0.95, 89)) * 0.01 / np.sqrt(90)
    for bound, passes in [(-0.0045, (True, True)), (-0.0086, (False, True)), (0.0005, (True, True))]:
        found = noninferiority(noise + bound + reach, np.zeros(90), [0.005, 0.010])
        assert found.low == pytest.approx(bound, abs=1e-9)
        assert found.passes == passes


RNG = np.random.default_rng(11)
Cells = list[NDArray[np.float64]]
SKEWED: Cells = [RNG.normal(0, 0.3, size) + RNG.lognormal(0, 1.2) for size in (5, 5, 4, 5, 3, 5, 5, 5, 2, 5, 5, 5)]


def known(cells: Cells, **given: Any) -> Any:
    """scipy draws positions of cells; the mean gathers their seeds."""
    return stats.bootstrap(
        (np.arange(len(cells)),),
        lambda drawn: np.mean(np.concatenate([cells[int(at)] for at in drawn])),
        vectorized=False, confidence_level=0.95, method="percentile", rng=np.random.default_rng(0), **given,
    ).confidence_interval  # fmt: skip


def test_cells_are_drawn_as_scipy_draws_them() -> None:
    found, other = bootstrap_interval(SKEWED, resamples=20_000), known(SKEWED, n_resamples=4000)
    assert found == pytest.approx(tuple(other), abs=0.06 * (other.high - other.low))


def test_from_the_same_resamples_scipy_reads_the_same_interval() -> None:
    drawn = stream(1, "bootstrap").integers(len(SKEWED), size=(400, len(SKEWED)))
    values = np.array([np.concatenate([SKEWED[at] for at in draw]).mean() for draw in drawn])
    same = SimpleNamespace(bootstrap_distribution=values)
    found = bootstrap_interval(SKEWED, resamples=400, seed=1)
    assert found == pytest.approx(tuple(known(SKEWED, n_resamples=0, bootstrap_result=same)), rel=1e-9)


def test_seeds_stay_together() -> None:
    """Copies of a seed add no information: cells of ten equal seeds are as uncertain as cells of one."""
    alone = [[value] for value in RNG.normal(0, 1, 15)]
    copied = [cell * 10 for cell in alone]
    one, ten = bootstrap_interval(alone), bootstrap_interval(copied)
    loose = bootstrap_interval([[value] for cell in copied for value in cell])
    assert ten is not None
    assert loose is not None
    assert one == pytest.approx(ten, rel=1e-9)
    assert loose[1] - loose[0] < 0.5 * (ten[1] - ten[0])


@given(st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=4), min_size=2, max_size=8), st.floats(-5, 5))
@settings(max_examples=40, deadline=None)
def test_intervals_are_ordered_and_move_with_the_data(cells: list[list[int]], shift: float) -> None:
    plain = bootstrap_interval(cells, resamples=200)
    moved = bootstrap_interval([[v + shift for v in cell] for cell in cells], resamples=200)
    assume(plain is not None and moved is not None)
    assert plain is not None
    assert plain[0] <= plain[1]
    assert moved == pytest.approx((plain[0] + shift, plain[1] + shift), abs=1e-9)


def test_equal_cells_have_no_interval() -> None:
    assert bootstrap_interval([[0.1, 0.3], [0.2], [0.2, 0.2]], resamples=200) is None
    assert bootstrap_interval([[0.0], [0.0]], resamples=50) is None
