from __future__ import annotations

import numpy as np
import pytest
import torch

from hybridal.errors import UserError
from hybridal.signals import weight_distance
from hybridal.signals.weight_distance import WeightDistance
from hybridal.testing import FakeModel


@pytest.mark.parametrize("block", [7, 2**20])
def test_weight_distance_is_the_norm_of_all_parameters(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_distance, "NUMBERS_PER_BLOCK", block)
    models = [FakeModel.random(seed) for seed in (1, 2)]
    one, two = (np.concatenate([p.detach().numpy().ravel() for p in m.weights().values()]) for m in models)
    before, now = (WeightDistance().snapshot(model) for model in models)
    expected = np.linalg.norm(two.astype(np.float64) - one.astype(np.float64))
    assert WeightDistance().change(before, now) == pytest.approx(expected, rel=1e-12)


def test_small_steps_of_large_weights_are_not_lost() -> None:
    before = {"w": np.full(10**5, 1.0, dtype=np.float32)}
    now = {"w": np.full(10**5, np.float32(1.0) + np.float32(2**-20), dtype=np.float32)}
    assert WeightDistance().change(before, now) == pytest.approx(2**-20 * 10**2.5, rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_every_precision_can_be_kept(dtype: torch.dtype) -> None:
    model = FakeModel([[0, 1]], [1], weights={"w": [0.5, 1.5]})
    model._parameters = {"w": torch.nn.Parameter(torch.tensor([0.5, 1.5], dtype=dtype))}
    kept = WeightDistance().snapshot(model)["w"]
    assert kept.tolist() == [0.5, 1.5]
    assert kept.dtype == (np.float64 if dtype == torch.float64 else np.float32)


def test_other_parameters_are_refused() -> None:
    with pytest.raises(UserError, match="same parameters"):
        WeightDistance().change({"w": np.zeros(2)}, {"w": np.zeros(3)})
