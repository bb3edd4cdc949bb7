from __future__ import annotations

import numpy as np
import powerlaw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.outputs import Floats
from hybridal.signals.alpha_tail import AlphaTail, fit_tail
from hybridal.testing import FakeModel


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.5])
def test_a_known_exponent_is_found(exponent: float) -> None:
    draws = np.random.default_rng(1).random(5000)
    tail = fit_tail((1 - draws) ** (-1 / (exponent - 1)))
    assert tail.exponent == pytest.approx(exponent, rel=0.05)
    assert tail.distance < 0.03


def test_the_start_of_the_tail_is_found() -> None:
    rng = np.random.default_rng(2)
    bulk, tail = rng.uniform(0, 5, size=1000), 5 * (1 - rng.random(1000)) ** (-1 / 1.5)
    found = fit_tail(np.concatenate([bulk, tail]))
    assert found.start == pytest.approx(5, rel=0.2)
    assert found.exponent == pytest.approx(2.5, rel=0.1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(60, 60), (80, 240)])
def test_alpha_tail_equals_powerlaw_on_real_spectra(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    heavy = rng.standard_t(2.5, size=shape)
    eigenvalues = np.linalg.svd(heavy, compute_uv=False) ** 2
    theirs = powerlaw.Fit(eigenvalues, verbose=False, parameter_ranges={"alpha": [1.0, 100.0]})  # else at most 3
    ours = fit_tail(eigenvalues)
    assert ours.start == pytest.approx(theirs.xmin)
    assert ours.exponent == pytest.approx(theirs.alpha, rel=1e-6)
    assert ours.distance == pytest.approx(theirs.D, abs=1e-6)


def every_start(data: Floats) -> tuple[float, float, float]:
    """The distance, start and exponent of the best tail, with all starts tried."""
    best = (np.inf, np.nan, np.nan)
    data = np.sort(data)
    for i, start in enumerate(data[:-1]):
        tail = data[i:]
        excess = np.log(tail / start).sum()
        if excess > 0:
            alpha = 1 + len(tail) / excess
            gaps = np.abs(1 - (tail / start) ** (1 - alpha) - np.arange(len(tail)) / len(tail))
            best = min(best, (float(gaps.max()), float(start), float(alpha)))
    return best


def spectrum(values: Floats) -> Floats:
    return np.asarray(np.linalg.svd(values, compute_uv=False) ** 2)


@given(seed=st.integers(0, 10_000), size=st.integers(3, 300), kind=st.sampled_from(["pareto", "normal", "heavy"]))
def test_chosen_tail_start_is_the_best(seed: int, size: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    if kind == "pareto":
        data: Floats = rng.pareto(2.0, size=size) + 1
    elif kind == "normal":
        data = spectrum(rng.normal(size=(size, 2 * size)))
    else:
        data = spectrum(rng.standard_t(2.5, size=(size, 2 * size)))
    found = fit_tail(data)
    assert (found.distance, found.start, found.exponent) == pytest.approx(every_start(data), rel=1e-9)


@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=3, max_size=80))
def test_repeated_values_are_accepted(values: list[float]) -> None:
    data = np.array(values)
    found = fit_tail(data)
    assert found.distance == pytest.approx(every_start(data)[0], rel=1e-9)


def test_snapshot_has_exponent_and_distance() -> None:
    model = FakeModel.random(1, width=30)
    snapshot = AlphaTail().snapshot(model)
    for i, matrix in enumerate(model.matrices().values()):
        tail = fit_tail(np.linalg.svd(matrix.detach().numpy().astype(np.float64), compute_uv=False) ** 2)
        assert snapshot["exponents"][i] == pytest.approx(tail.exponent)
        assert snapshot["distances"][i] == pytest.approx(tail.distance)


def test_equal_values_have_no_tail() -> None:
    assert np.isnan(fit_tail(np.ones(5)).exponent)
