import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from hybridal.errors import UserError
from hybridal.evidence.statistics.ranks import holm, signed_rank, signed_rank_family

from .samples import Pair, pairs, study


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
