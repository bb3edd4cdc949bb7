import math
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from hybridal.lab.statistics.ranks import effect, holm, signed_rank, small_sample_factor, spearman

from .samples import Pair, pairs, study


@pytest.mark.parametrize("n", [1, 2, 5, 18, 49, 90])
def test_wilcoxon_without_ties_equals_scipys_exact_test(n: int) -> None:
    new, reference = study(n)
    known = float(stats.wilcoxon(new, reference, method="exact").pvalue)
    assert signed_rank(new, reference) == pytest.approx(known, rel=1e-9)


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9).filter(lambda ds: sum(map(bool, ds)) > 1))
@settings(max_examples=40, deadline=None)
def test_wilcoxon_with_ties_equals_scipys_permutation_test(differences: list[int]) -> None:
    moved = [d for d in differences if d]
    known = stats.wilcoxon(moved, method=stats.PermutationMethod(n_resamples=2 ** len(moved)))
    assert signed_rank(differences, [0] * len(differences)) == pytest.approx(float(known.pvalue), rel=1e-9)


@pytest.mark.parametrize("step", [0.0, 0.005])
def test_many_pairs_are_approximated_as_scipy_does(step: float) -> None:
    new, reference = study(400, shift=-0.001)
    if step:
        new, reference = np.round(new / step) * step, np.round(reference / step) * step
    clean = np.round(new - reference, 12)
    known = float(stats.wilcoxon(clean[clean != 0], method="approx").pvalue)
    assert signed_rank(new, reference) == pytest.approx(known, rel=1e-9)


def test_counted_and_approximated_meet() -> None:
    new, reference = study(200, shift=-0.0008)
    found, known = signed_rank(new, reference), float(stats.wilcoxon(new, reference, method="approx").pvalue)
    assert found == pytest.approx(known, abs=2e-3)
    assert found != known


@given(pairs)
def test_signs_do_not_matter_and_equal_pairs_say_nothing(pair: Pair) -> None:
    found, moved = signed_rank(*pair), int((np.round(pair[0] - pair[1], 9) != 0).sum())
    assert found == signed_rank(pair[1], pair[0])
    assert (found is None) == (moved == 0)
    assert found is None or 2.0 ** (1 - moved) * (1 - 1e-12) <= found <= 1


def test_five_seeds_never_come_below_a_sixteenth() -> None:
    assert signed_rank([1, 2, 3, 4, 5], [0, 0, 0, 0, 0]) == 0.0625


def test_rounding_breaks_no_ties() -> None:
    assert signed_rank([0.3, 0.4, 0.8], [0.2, 0.5, 0.7]) == signed_rank([1, -1, 1], [0, 0, 0])


@given(st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.01, 0.02, 0.04, 0.05, 0.3, 1.0])), max_size=8))
@settings(deadline=None)
def test_holm_is_statsmodels_with_the_missing_counted(p_values: list[float | None]) -> None:
    corrected = holm(p_values)
    filled = [1.0 if p is None else p for p in p_values]
    with warnings.catch_warnings(), patch("gc.collect"):  # theirs looks for garbage each time, in all of the session
        warnings.simplefilter("ignore")
        known = multipletests(filled, method="holm")[1] if filled else []
    for p, mine, theirs in zip(p_values, corrected, known, strict=True):
        assert mine is None if p is None else mine == pytest.approx(theirs, rel=1e-12)


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
    samples = np.random.default_rng(1).normal(0.8, 1.0, (1000, 5))
    zeros = np.zeros(5)
    found = [effect(sample, zeros) for sample in samples]
    assert np.mean([one.g_z for one in found]) == pytest.approx(0.8, abs=0.03)
    assert np.mean([one.d_z for one in found]) > 0.9


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=20))
def test_cliffs_delta_counts_all_pairings(rows: list[tuple[int, int]]) -> None:
    new, reference = [row[0] for row in rows], [row[1] for row in rows]
    above = np.sign(np.subtract.outer(new, reference)).mean()
    assert effect(new, reference).cliffs_delta == pytest.approx(above)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=20).filter(any))
def test_rank_biserial_comes_from_scipys_rank_sums(differences: list[int]) -> None:
    moved = [d for d in differences if d]
    plus = float(stats.wilcoxon(moved, alternative="greater", method="approx").statistic)
    total = len(moved) * (len(moved) + 1) / 2
    assert effect(differences, [0] * len(differences)).rank_biserial == pytest.approx((2 * plus - total) / total)


@given(pairs)
def test_swapping_sides_flips_all_effects(pair: Pair) -> None:
    found, turned = effect(*pair), effect(pair[1], pair[0])
    for name in ("d_z", "g_z", "cliffs_delta", "rank_biserial"):
        one, other = getattr(found, name), getattr(turned, name)
        assert (one is None and other is None) or one == pytest.approx(-other, abs=1e-12)


def test_effects_of_degenerate_samples() -> None:
    none = effect([], [])
    assert (none.d_z, none.g_z, none.cliffs_delta, none.rank_biserial) == (None,) * 4
    one = effect([2], [1])
    assert (one.d_z, one.cliffs_delta, one.rank_biserial) == (None, 1.0, 1.0)
    same = effect([0.3, 0.4], [0.2, 0.3])
    assert (same.d_z, same.rank_biserial) == (None, 1.0)
    two = effect([2, 5], [1, 1])
    assert two.d_z is not None
    assert two.g_z is None
    assert effect([1, 2], [1, 2]).rank_biserial is None


def test_spearman_matrix_equals_scipy() -> None:
    rng = np.random.default_rng(5)
    table = np.round(rng.normal(0, 1, (720, 3)) @ [[1, 0.8, 0], [0, 0.6, 0], [0, 0, 1]], 1)
    known = stats.spearmanr(table).statistic
    assert np.allclose(np.array(spearman(pd.DataFrame(table)), dtype=float), known, rtol=0, atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=20))
def test_spearman_with_ties_and_constants(rows: list[tuple[int, int]]) -> None:
    table = np.array(rows, dtype=float).reshape(-1, 2)
    found = spearman(pd.DataFrame(table))
    varied = [len(set(table[:, at])) > 1 for at in (0, 1)]
    assert found[0][0] == (1.0 if varied[0] else None)
    assert found[0][1] == found[1][0]
    if all(varied):
        known = float(stats.spearmanr(table[:, 0], table[:, 1]).statistic)
        assert found[0][1] == pytest.approx(known, abs=1e-12)
    else:
        assert found[0][1] is None


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=20, unique=True))
def test_spearman_depends_on_order_only(values: list[int]) -> None:
    x = pd.Series(values, dtype=float)
    assert spearman(pd.DataFrame({0: x, 1: x**3, 2: -x})) == [[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
