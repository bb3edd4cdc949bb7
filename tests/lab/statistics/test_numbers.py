from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from hybridal.lab.statistics.numbers import differences, exact, summary

from .samples import Pair, pairs


def test_exact_number_equals_its_printed_value() -> None:
    assert exact(0.995) * exact(0.86) == Fraction(8557, 10000)
    assert exact(1e-4) == Fraction(1, 10000)
    assert exact(np.float64(0.1)) == Fraction(1, 10)


@given(pairs)
def test_clean_differences_tie_where_whole_numbers_do(pair: Pair) -> None:
    new, reference = pair
    _, clean = differences(new, reference)
    whole = np.rint(new * 1000).astype(int) - np.rint(reference * 1000).astype(int)
    assert np.allclose(clean, whole / 1000, rtol=0, atol=1e-12)
    assert len(set(clean.tolist())) == len(set(whole.tolist()))
    assert (clean == 0).tolist() == (whole == 0).tolist()


def test_small_differences_of_small_numbers_are_kept() -> None:
    _, clean = differences([2e-20, 5e-20], [1e-20, 1e-20])
    assert clean == pytest.approx([1e-20, 4e-20], rel=1e-9)


def test_rounding_is_no_spread() -> None:
    found = summary([0.3, 0.4, 0.8], [0.2, 0.3, 0.7])
    assert (found.n, found.sd) == (3, 0.0)
    assert found.mean == pytest.approx(0.1)
    assert np.std([0.3 - 0.2, 0.4 - 0.3, 0.8 - 0.7], ddof=1) > 0


def test_summary_of_few_pairs() -> None:
    none, one = summary([], []), summary([0.5], [0.25])
    assert (none.n, none.mean, none.sd) == (0, None, None)
    assert (one.n, one.mean, one.sd) == (1, 0.25, None)
    assert summary([0.0, 0.0], [0.0, 0.0]).sd == 0.0
