import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybridal.errors import UserError
from hybridal.evidence.statistics.ranks import signal_correlation, spearman

from .samples import run_of

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


def test_degenerate() -> None:
    assert signal_correlation([], ["loss"]).rho == ((None,),)
    assert signal_correlation([], []).rho == ()
    one = signal_correlation([run_of([{"loss": None}, {"loss": 0.2}])], ["loss"])
    assert (one.n, one.rho) == (1, ((None,),))


def test_bad_input() -> None:
    with pytest.raises(UserError, match="'loss' in round 1"):
        signal_correlation([run_of([{"loss": math.nan}])], ["loss"])
    with pytest.raises(UserError, match="did not record the signal 'cka'"):
        signal_correlation([run_of([{"loss": 0.1}])], ["loss", "cka"])
    with pytest.raises(UserError, match="column 2: number 1"):
        spearman(np.array([[1.0, math.nan], [2.0, 3.0]]))
    with pytest.raises(UserError, match="rows and columns"):
        spearman(np.array([1.0, 2.0]))
