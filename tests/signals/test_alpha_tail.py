from __future__ import annotations

import numpy as np
import powerlaw
import pytest

from hybridal.conformance import FakeModel
from hybridal.signals.alpha_tail import AlphaTail, fit_tail


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
def test_it_is_that_of_powerlaw_on_real_spectra(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    heavy = rng.standard_t(2.5, size=shape)
    eigenvalues = np.linalg.svd(heavy, compute_uv=False) ** 2
    theirs = powerlaw.Fit(eigenvalues, verbose=False, parameter_ranges={"alpha": [1.0, 100.0]})  # else at most 3
    ours = fit_tail(eigenvalues)
    assert ours.start == pytest.approx(theirs.xmin)
    assert ours.exponent == pytest.approx(theirs.alpha, rel=1e-6)
    assert ours.distance == pytest.approx(theirs.D, abs=1e-6)


def test_it_is_the_best_of_all_starts_written_out() -> None:
    data = np.sort(np.random.default_rng(4).pareto(2.0, size=60) + 1)
    best = (np.inf, 0.0)
    for start in data[:-1]:
        tail = data[data >= start]
        alpha = 1 + len(tail) / sum(np.log(x / start) for x in tail)
        gaps = [abs(1 - (x / start) ** (1 - alpha) - i / len(tail)) for i, x in enumerate(tail)]
        best = min(best, (max(gaps), alpha))
    found = fit_tail(data)
    assert (found.distance, found.exponent) == pytest.approx(best)


def test_snapshot_keeps_the_distance_beside_the_exponent() -> None:
    model = FakeModel.random(1, width=30)
    snapshot = AlphaTail().snapshot(model)
    for i, matrix in enumerate(model.matrices().values()):
        tail = fit_tail(np.linalg.svd(matrix.detach().numpy().astype(np.float64), compute_uv=False) ** 2)
        assert snapshot["exponents"][i] == pytest.approx(tail.exponent)
        assert snapshot["distances"][i] == pytest.approx(tail.distance)


def test_equal_values_have_no_tail() -> None:
    assert np.isnan(fit_tail(np.ones(5)).exponent)
