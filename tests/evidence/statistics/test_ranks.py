import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from hybridal.errors import UserError
from hybridal.evidence.statistics.ranks import (
    cliffs_delta,
    effect,
    holm,
    rank_biserial,
    signed_rank,
    signed_rank_family,
    small_sample_factor,
    spearman,
)
from hybridal.evidence.statistics.rounds import signal_correlation

from .samples import Pair, pairs, run_of, study


@pytest.mark.parametrize("n", [1, 2, 5, 18, 49, 90])
def test_without_ties_it_is_scipys_exact_test(n: int) -> None:
    new, reference = study(n)
    found, known = signed_rank(new, reference), stats.wilcoxon(new, reference, method="exact")
    assert found.p == pytest.approx(float(known.pvalue), rel=1e-9)
    assert min(found.plus, found.minus) == known.statistic
    assert found.exact


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9).filter(lambda ds: sum(map(bool, ds)) > 1))
@settings(max_examples=40, deadline=None)
def test_with_ties_it_counts_all_signs_as_scipys_permutation_test_does(differences: list[int]) -> None:
    found = signed_rank(differences, [0] * len(differences))
    moved = [d for d in differences if d]
    known = stats.wilcoxon(moved, method=stats.PermutationMethod(n_resamples=2 ** len(moved)))
    assert found.p == pytest.approx(float(known.pvalue), rel=1e-9)
    assert (found.n, found.moved) == (len(differences), len(moved))


@pytest.mark.parametrize("step", [0.0, 0.005])
def test_many_pairs_are_approximated_as_scipy_does(step: float) -> None:
    new, reference = study(400, shift=-0.001)
    if step:
        new, reference = np.round(new / step) * step, np.round(reference / step) * step
    found = signed_rank(new, reference)
    clean = np.round(new - reference, 12)
    known = stats.wilcoxon(clean[clean != 0], method="approx")
    assert not found.exact
    assert found.p == pytest.approx(float(known.pvalue), rel=1e-9)


def test_counted_and_approximated_meet() -> None:
    new, reference = study(200, shift=-0.0008)
    found, known = signed_rank(new, reference), stats.wilcoxon(new, reference, method="approx")
    assert found.exact
    assert found.p == pytest.approx(float(known.pvalue), abs=2e-3)
    assert found.p != float(known.pvalue)


@given(pairs)
def test_signs_and_sums(pair: Pair) -> None:
    found, turned = signed_rank(*pair), signed_rank(pair[1], pair[0])
    assert (found.plus, found.minus, found.p) == (turned.minus, turned.plus, turned.p)
    assert found.plus + found.minus == found.moved * (found.moved + 1) / 2
    if found.p is None:
        assert found.moved == 0
        assert found.note == ("no pair differs" if found.n else "there are no pairs")
    else:
        assert found.smallest_p is not None
        assert found.smallest_p * (1 - 1e-12) <= found.p <= 1


def test_five_seeds_never_come_below_a_sixteenth() -> None:
    found = signed_rank([1, 2, 3, 4, 5], [0, 0, 0, 0, 0])
    assert found.p == found.smallest_p == 0.0625


def test_rounding_breaks_no_ties() -> None:
    assert signed_rank([0.3, 0.4, 0.8], [0.2, 0.5, 0.7]).plus == 4.0


@given(st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.01, 0.02, 0.04, 0.05, 0.3, 1.0])), max_size=8))
@settings(max_examples=15, deadline=None)  # theirs takes a tenth of a second
def test_holm_is_statsmodels_with_the_missing_counted(p_values: list[float | None]) -> None:
    corrected = holm(p_values)
    filled = [1.0 if p is None else p for p in p_values]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = multipletests(filled, method="holm")[1] if filled else []
    for p, mine, theirs in zip(p_values, corrected, known, strict=True):
        assert mine is None if p is None else mine == pytest.approx(theirs, rel=1e-12)


def test_a_family_corrects_together() -> None:
    new, reference = study(12)
    family = signed_rank_family({"a": (new, reference), "same": (reference, reference), "b": (new - 0.02, reference)})
    assert list(family) == ["a", "same", "b"]
    assert family["a"].p == signed_rank(new, reference).p
    assert (family["same"].p, family["same"].p_holm) == (None, None)
    assert tuple(test.p_holm for test in family.values()) == holm([test.p for test in family.values()])
    assert family["b"].p_holm == pytest.approx(3 * family["b"].p)  # type: ignore[operator]
    assert signed_rank_family({}) == {}


def test_bad_input() -> None:
    with pytest.raises(UserError, match="new: number 1"):
        signed_rank([float("nan")], [1])
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(UserError, match="A p value must lie in 0 to 1"):
            holm([0.1, bad])


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


NAMES = ["accuracy", "loss", "cka"]


def test_the_matrix_is_scipys_over_all_runs_together() -> None:
    rng = np.random.default_rng(5)
    tables = [np.round(rng.normal(0, 1, (24, 3)) @ [[1, 0.8, 0], [0, 0.6, 0], [0, 0, 1]], 1) for _ in range(30)]
    none: dict[str, float | None] = dict.fromkeys(NAMES)
    runs = [run_of([none, *(dict(zip(NAMES, row, strict=True)) for row in table.tolist())]) for table in tables]
    found = signal_correlation(runs, NAMES)
    known = stats.spearmanr(np.concatenate(tables)).statistic
    assert (found.n, found.left_out) == (720, 0)  # the paper's number: 30 runs × 24 rounds with a change
    assert np.allclose(np.array(found.rho, dtype=float), known, rtol=0, atol=1e-12)
    assert found.between("loss", "accuracy") == found.rho[1][0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=20))
def test_ties_and_constants(rows: list[tuple[int, int]]) -> None:
    table = np.array(rows, dtype=float).reshape(-1, 2)
    found = spearman(table)
    varied = [len(set(table[:, at])) > 1 for at in (0, 1)]
    assert found[0][0] == (1.0 if varied[0] else None)
    assert found[0][1] == found[1][0]
    if all(varied):
        known = float(stats.spearmanr(table[:, 0], table[:, 1]).statistic)
        assert found[0][1] == pytest.approx(known, abs=1e-12)
    else:
        assert found[0][1] is None


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=20, unique=True))
def test_only_order_counts(values: list[int]) -> None:
    x = np.array(values, dtype=float)
    assert spearman(np.column_stack([x, x**3, -x])) == ((1.0, 1.0, -1.0), (1.0, 1.0, -1.0), (-1.0, -1.0, 1.0))


def test_rounds_without_every_signal_are_left_out_and_counted() -> None:
    rows: list[dict[str, float | None]] = [
        {"loss": None, "cka": None}, {"loss": 0.3, "cka": 5.0}, {"loss": 0.9, "cka": None},
        {"loss": 0.2, "cka": 9.0}, {"loss": 0.1, "cka": 7.0},
    ]  # fmt: skip
    found = signal_correlation([run_of(rows)], ["loss", "cka"])
    assert (found.n, found.left_out, found.between("loss", "cka")) == (3, 1, -0.5)


def test_degenerate_signals() -> None:
    assert signal_correlation([], ["loss"]).rho == ((None,),)
    assert signal_correlation([], []).rho == ()
    one = signal_correlation([run_of([{"loss": None}, {"loss": 0.2}])], ["loss"])
    assert (one.n, one.rho) == (1, ((None,),))


def test_bad_signals() -> None:
    with pytest.raises(UserError, match="'loss' in round 1"):
        signal_correlation([run_of([{"loss": math.nan}])], ["loss"])
    with pytest.raises(UserError, match="did not record the signal 'cka'"):
        signal_correlation([run_of([{"loss": 0.1}])], ["loss", "cka"])
    with pytest.raises(UserError, match="column 2: number 1"):
        spearman(np.array([[1.0, math.nan], [2.0, 3.0]]))
    with pytest.raises(UserError, match="rows and columns"):
        spearman(np.array([1.0, 2.0]))
