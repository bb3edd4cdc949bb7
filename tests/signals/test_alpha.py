from __future__ import annotations

import math

import numpy as np
import pytest

from hybridal.signals.alpha import Alpha, rank_exponent
from hybridal.testing import FakeModel


def written_out(model: FakeModel) -> float:
    """The published definition, step by step."""
    exponents = []
    for matrix in model.matrices().values():
        values = [s for s in np.linalg.svd(matrix.detach().numpy().astype(np.float64))[1] if s > 1e-8]
        if len(values) < 3:
            continue
        values.sort(reverse=True)
        slope, _ = np.polyfit([math.log(r) for r in range(1, len(values) + 1)], [math.log(s) for s in values], 1)
        exponents.append(-slope)
    return float(sum(exponents) / len(exponents))


@pytest.mark.parametrize("width", [4, 30])
def test_alpha_change_equals_the_published_definition(width: int) -> None:
    models = [FakeModel.random(seed, width=width) for seed in (1, 2)]
    before, now = (Alpha().snapshot(model) for model in models)
    expected = abs(written_out(models[1]) - written_out(models[0]))
    assert Alpha().change(before, now) == pytest.approx(expected, abs=1e-10)


def test_embeddings_and_two_class_heads_do_not_count() -> None:
    assert len(Alpha().snapshot(FakeModel.random(1, classes=2))["exponents"]) == 2
    assert len(Alpha().snapshot(FakeModel.random(1, classes=3))["exponents"]) == 3


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.7])
def test_an_exact_power_of_rank_is_found(exponent: float) -> None:
    assert rank_exponent(3 * np.arange(1.0, 200.0) ** -exponent) == pytest.approx(exponent, abs=1e-12)


def test_a_common_scale_changes_nothing() -> None:
    values = np.sort(np.random.default_rng(1).random(50))[::-1]
    assert rank_exponent(10 * values) == pytest.approx(rank_exponent(values), abs=1e-12)
