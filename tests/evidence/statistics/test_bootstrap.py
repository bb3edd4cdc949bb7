from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from hybridal.errors import UserError
from hybridal.evidence.statistics.bootstrap import Method, bootstrap, mean, seed_noise
from hybridal.randomness import stream

RNG = np.random.default_rng(11)
Cells = list[NDArray[np.float64]]
SKEWED: Cells = [RNG.normal(0, 0.3, size) + RNG.lognormal(0, 1.2) for size in (5, 5, 4, 5, 3, 5, 5, 5, 2, 5, 5, 5)]
# Means of these tie with the mean of all: half of such resamples count as lower.
TIED: Cells = [np.array([float(value)]) for value in (0, 0, 1, 1, 1, 4, 0, 1)]


def median(values: NDArray[np.float64]) -> float:
    return float(np.median(values))


def known(cells: Cells, statistic: Callable[[Any], Any], method: str, confidence: float, **given: Any) -> Any:
    """scipy draws positions of cells; the statistic gathers their seeds."""
    return stats.bootstrap(  # type: ignore[call-overload]
        (np.arange(len(cells)),),
        lambda drawn: statistic(np.concatenate([cells[int(at)] for at in drawn])),
        vectorized=False, confidence_level=confidence, method=method, rng=np.random.default_rng(0), **given,
    )  # fmt: skip


@pytest.mark.parametrize(("method", "name"), [("percentile", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_cells_are_drawn_as_scipy_draws_them(method: Method, name: str, confidence: float) -> None:
    found = bootstrap(SKEWED, method=method, confidence=confidence, resamples=20_000)
    other = known(SKEWED, np.mean, name, confidence, n_resamples=4000)
    width = other.confidence_interval.high - other.confidence_interval.low
    assert found.estimate == pytest.approx(np.concatenate(SKEWED).mean())
    assert [found.low, found.high] == pytest.approx(list(other.confidence_interval), abs=0.06 * width)
    assert found.error == pytest.approx(other.standard_error, rel=0.06)
    assert (found.cells, found.values, found.note) == (12, 54, "")


@pytest.mark.parametrize(("method", "name"), [("percentile", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("cells", [SKEWED, TIED], ids=["skewed", "tied"])
def test_from_the_same_resamples_scipy_reads_the_same_interval(
    method: Method, name: str, confidence: float, cells: Cells
) -> None:
    found = bootstrap(cells, method=method, confidence=confidence, resamples=400, seed=1)
    drawn = stream(1, "bootstrap").integers(len(cells), size=(400, len(cells)))
    values = np.array([np.concatenate([cells[at] for at in draw]).mean() for draw in drawn])
    same = SimpleNamespace(bootstrap_distribution=values)
    other = known(cells, np.mean, name, confidence, n_resamples=0, bootstrap_result=same)
    assert [found.low, found.high] == pytest.approx(list(other.confidence_interval), rel=1e-9)
    assert found.error == pytest.approx(float(other.standard_error), rel=1e-9)


def test_bca_leans_towards_the_long_tail() -> None:
    plain, mended = (bootstrap(SKEWED, method=method, resamples=5000) for method in ("percentile", "bca"))
    assert mended.low > plain.low  # type: ignore[operator]
    assert mended.high > plain.high  # type: ignore[operator]


def test_any_statistic() -> None:
    found = bootstrap(SKEWED, median, resamples=3000)
    other = known(SKEWED, np.median, "BCa", 0.95, n_resamples=2000)
    width = other.confidence_interval.high - other.confidence_interval.low
    assert [found.low, found.high] == pytest.approx(list(other.confidence_interval), abs=0.1 * width)


def test_the_mean_at_once_is_the_mean_one_by_one() -> None:
    quick, slow = (bootstrap(SKEWED, how, resamples=500) for how in (mean, lambda values: float(values.mean())))
    assert [quick.low, quick.high, quick.error] == pytest.approx([slow.low, slow.high, slow.error], rel=1e-12)


def test_seeds_stay_together() -> None:
    """Copies of a seed add no information: cells of ten equal seeds are as uncertain as cells of one."""
    alone = [[value] for value in RNG.normal(0, 1, 15)]
    copied = [cell * 10 for cell in alone]
    one, ten = bootstrap(alone, resamples=2000), bootstrap(copied, resamples=2000)
    assert [one.low, one.high] == pytest.approx([ten.low, ten.high], rel=1e-9)
    loose = bootstrap([[value] for cell in copied for value in cell], resamples=2000)
    assert loose.high - loose.low < 0.5 * (ten.high - ten.low)  # type: ignore[operator]


def test_the_seed_decides() -> None:
    first, again, other = (bootstrap(SKEWED, resamples=300, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.low != other.low


@given(st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=4), min_size=2, max_size=8), st.floats(-5, 5))
@settings(max_examples=40, deadline=None)
def test_intervals_are_ordered_and_move_with_the_data(cells: list[list[int]], shift: float) -> None:
    plain = bootstrap(cells, method="percentile", resamples=200)
    moved = bootstrap([[v + shift for v in cell] for cell in cells], method="percentile", resamples=200)
    if plain.low is None or plain.high is None:
        assert plain.note == "the statistic is the same in all resamples"
        return
    assert plain.low <= plain.high
    if moved.low is not None:
        assert [moved.low, moved.high] == pytest.approx([plain.low + shift, plain.high + shift], abs=1e-9)


def test_degenerate() -> None:
    none, one = bootstrap([]), bootstrap([[1.0, 3.0]])
    assert (none.estimate, none.low, none.high, none.note) == (None, None, None, "there are no cells")
    assert (one.estimate, one.low, one.note) == (2.0, None, "one cell says nothing about other cells")
    same = bootstrap([[0.1, 0.3], [0.2], [0.2, 0.2]], resamples=200)
    assert (same.low, same.high, same.error, same.note) == (
        None,
        None,
        None,
        "the statistic is the same in all resamples",
    )
    assert bootstrap([[0.0], [0.0]], resamples=50).note == "the statistic is the same in all resamples"


def test_a_statistic_too_biased_for_bca_is_not_given_an_interval() -> None:
    def odd(values: NDArray[np.float64]) -> float:
        return float(len(np.unique(values)))  # every resample with a repeated cell has fewer

    cells = [[float(at)] for at in range(40)]
    found = bootstrap(cells, odd, resamples=200)
    assert (found.low, found.high, found.note) == (None, None, "the statistic is too biased or skewed for BCa")
    assert bootstrap(cells, odd, "percentile", resamples=200).high < 40  # type: ignore[operator]


def test_bad_input() -> None:
    with pytest.raises(UserError, match="cell 2: number 1"):
        bootstrap([[1.0], [float("nan")]])
    with pytest.raises(UserError, match="cell 2 has no numbers"):
        bootstrap([[1.0], []])
    with pytest.raises(UserError, match="resamples must be at least 1"):
        bootstrap([[1.0], [2.0]], resamples=0)
    with pytest.raises(UserError, match="percentile or bca"):
        bootstrap([[1.0], [2.0]], method="magic")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="confidence"):
        bootstrap([[1.0], [2.0]], confidence=1.0)
    with pytest.raises(UserError, match="always a number"):
        bootstrap([[1.0], [2.0]], lambda values: float("nan") if len(set(values)) == 1 else 1.0)


# The ± of RETRAIN in the paper's table of test F1, in thousandths: 3 backbones × 6 datasets.
RETRAIN = [21, 4, 3, 21, 23, 4, 13, 4, 14, 21, 13, 2, 33, 5, 13, 15, 22, 6]


def test_the_papers_floor() -> None:
    shape = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / np.sqrt(2.5)  # five seeds whose standard deviation is 1
    found = seed_noise([0.8 + shape * spread / 1000 for spread in RETRAIN])
    assert found.mean == pytest.approx(0.0131, abs=1e-4)  # the table is rounded
    assert found.median == pytest.approx(0.013)
    assert found.largest == pytest.approx(0.033)
    assert (found.cells, found.left_out) == (18, 0)


def test_it_is_pandas_mean_of_stds() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"cell": np.repeat(np.arange(7), 5), "f1": rng.normal(0.8, 0.02, 35)})
    stds = table.groupby("cell")["f1"].std()
    found = seed_noise([group.to_numpy() for _, group in table.groupby("cell")["f1"]])
    assert found.mean == pytest.approx(float(stds.mean()), rel=1e-12)
    assert found.largest == pytest.approx(float(stds.max()), rel=1e-12)


def test_noise_of_little() -> None:
    assert seed_noise([]).mean is None
    assert seed_noise([[0.5], []]) == seed_noise([[], [0.7]])
    assert seed_noise([[0.5], []]).left_out == 2
    assert seed_noise([[0.1] * 3, [0.1] * 5]).mean == 0.0
    with pytest.raises(UserError, match="cell 2: number 1"):
        seed_noise([[0.5], [float("nan")]])
