import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybridal.errors import UserError
from hybridal.evidence.statistics.ranks import cliffs_delta, effect, rank_biserial, small_sample_factor

from .samples import Pair, pairs, study


@pytest.mark.parametrize("n", [2, 5, 90])
def test_d_is_t_over_root_n(n: int) -> None:
    new, reference = study(n)
    known = float(stats.ttest_rel(new, reference).statistic) / math.sqrt(n)
    assert effect(new, reference).d_z == pytest.approx(known, rel=1e-9)


def test_hedges_factor() -> None:
    assert small_sample_factor(2) == pytest.approx(1 / math.sqrt(math.pi))
    assert small_sample_factor(3) == pytest.approx(math.sqrt(2 / 3) * math.gamma(1.5) / math.gamma(1.0))
    for df in (8, 30, 200):  # the usual approximation
        assert small_sample_factor(df) == pytest.approx(1 - 3 / (4 * df - 1), abs=1e-3)


def test_hedges_g_has_no_bias_where_cohens_d_has() -> None:
    samples = np.random.default_rng(1).normal(0.8, 1.0, (4000, 5))
    zeros = np.zeros(5)
    found = [effect(sample, zeros) for sample in samples]
    assert np.mean([one.g_z for one in found]) == pytest.approx(0.8, abs=0.03)
    assert np.mean([one.d_z for one in found]) > 0.9


@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.lists(st.integers(0, 6), min_size=1, max_size=20))
def test_cliffs_delta_is_the_rescaled_u(new: list[int], reference: list[int]) -> None:
    u = float(stats.mannwhitneyu(new, reference).statistic)
    assert cliffs_delta(new, reference) == pytest.approx(2 * u / (len(new) * len(reference)) - 1)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=20).filter(any))
def test_rank_biserial_comes_from_scipys_rank_sums(differences: list[int]) -> None:
    moved = [d for d in differences if d]
    plus = float(stats.wilcoxon(moved, alternative="greater", method="approx").statistic)
    total = len(moved) * (len(moved) + 1) / 2
    assert rank_biserial(differences) == pytest.approx((2 * plus - total) / total)


@given(pairs)
def test_swapping_turns_all_signs(pair: Pair) -> None:
    found, turned = effect(*pair), effect(pair[1], pair[0])
    for name in ("d_z", "g_z", "cliffs_delta", "rank_biserial"):
        one, other = getattr(found, name), getattr(turned, name)
        assert (one is None and other is None) or one == pytest.approx(-other, abs=1e-12)


def test_degenerate() -> None:
    none = effect([], [])
    assert (none.d_z, none.g_z, none.cliffs_delta, none.rank_biserial, none.note) == (
        *(None,) * 4,
        "there are no pairs",
    )
    one = effect([2], [1])
    assert (one.d_z, one.cliffs_delta, one.rank_biserial) == (None, 1.0, 1.0)
    same = effect([0.3, 0.4], [0.2, 0.3])
    assert (same.d_z, same.rank_biserial, same.note) == (None, 1.0, "all differences are equal")
    two = effect([2, 5], [1, 1])
    assert two.d_z is not None
    assert two.g_z is None
    assert effect([1, 2], [1, 2]).rank_biserial is None
    with pytest.raises(UserError, match="new: number 1"):
        effect([float("nan")], [1])
    with pytest.raises(UserError, match="reference: number 1"):
        cliffs_delta([1], [float("nan")])
    with pytest.raises(UserError, match="differences: number 2"):
        rank_biserial([1, float("nan")])
