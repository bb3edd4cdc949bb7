from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from torch import nn

from hybridal.models.encoders.dropout import LEVELS, MaskDropout, draw_mask


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3), st.floats(0.0, 1.0), st.integers(0, 2**32))
def test_a_mask_has_two_values_and_the_shape_asked_for(shape: list[int], rate: float, seed: int) -> None:
    torch.manual_seed(seed)
    mask = draw_mask(shape, rate)
    assert list(mask.shape) == shape
    assert bool(mask.isfinite().all())
    assert len(mask[mask > 0].unique()) <= 1


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_as_many_are_dropped_as_the_rate_says_and_the_mean_stays_one(rate: float) -> None:
    torch.manual_seed(7)
    mask = draw_mask((1000, 333), rate)
    dropped = int((mask == 0).sum())
    assert binomtest(dropped, mask.numel(), rate).pvalue > 1e-4
    kept = float(mask.max())
    assert kept * (1 - round(rate * LEVELS) / LEVELS) == pytest.approx(1.0, rel=1e-6)


def test_neighbours_are_dropped_independently() -> None:
    # Four elements share one word of random bits.
    torch.manual_seed(11)
    dropped = (draw_mask((400_000,), 0.5) == 0).view(-1, 4)
    for left in range(4):
        for right in range(left):
            together = int((dropped[:, left] & dropped[:, right]).sum())
            assert binomtest(together, len(dropped), 0.25).pvalue > 1e-4


def test_without_a_rate_everything_is_kept() -> None:
    assert bool((draw_mask((50, 50), 0.0) == 1).all())


def test_the_seed_decides_and_every_draw_is_new() -> None:
    torch.manual_seed(3)
    first, second = draw_mask((64, 64), 0.5), draw_mask((64, 64), 0.5)
    torch.manual_seed(3)
    assert torch.equal(first, draw_mask((64, 64), 0.5))
    assert not torch.equal(first, second)


def test_a_layer_drops_while_training_only_and_its_gradient_passes_where_its_values_did() -> None:
    layers = nn.Sequential(MaskDropout(0.3), MaskDropout(0.0))
    values = torch.rand(40, 40) + 1
    assert torch.equal(layers.eval()(values), values)
    values.requires_grad_()
    dropped = layers.train()(values)
    dropped.sum().backward()
    assert values.grad is not None
    assert torch.allclose(dropped, values * values.grad)
    assert 0 < int((dropped == 0).sum()) < dropped.numel()
