from __future__ import annotations

import pytest
import torch

from hybridal.signals.loss import Loss
from hybridal.testing import FakeModel


def test_loss_change_equals_torchs_cross_entropy() -> None:
    models = [FakeModel.random(seed) for seed in (1, 2)]
    one, two = (
        torch.nn.functional.cross_entropy(torch.tensor(m.validation.logits), torch.tensor(m.validation_labels)).item()
        for m in models
    )
    before, now = (Loss().snapshot(model) for model in models)
    assert Loss().change(before, now) == pytest.approx(abs(one - two), rel=1e-5)


def test_loss_is_the_mean_over_examples_not_over_batches() -> None:
    model = FakeModel(logits=[[0, 0], [0, 0], [0, 100]], labels=[0, 0, 0])
    assert float(Loss().snapshot(model)["loss"]) == pytest.approx((2 * 0.6931472 + 100) / 3)
