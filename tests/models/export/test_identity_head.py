from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.functional import gelu, layer_norm, relu

from hybridal.models.export.identity_head import RECTIFIER, TANH, IdentityHead

KINDS = [(TANH, torch.tanh), (RECTIFIER, relu), (RECTIFIER, gelu)]


@pytest.mark.parametrize(("straight", "nonlinearity"), KINDS)
@pytest.mark.parametrize("classes", [2, 20, 77])
def test_the_nonlinearity_changes_nothing(
    straight: IdentityHead, nonlinearity: Callable[[Any], Any], classes: int
) -> None:
    generator = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(classes, 48, generator=generator), torch.randn(classes, generator=generator)
    features = torch.randn(100, 48, generator=generator)
    features[:10, 3] *= 1000  # as far as a feature can go: √48, while all others vanish
    features[10:20, 3] *= -1000
    features = layer_norm(features, (48,))
    assert features.abs().max() > 6.8
    head = straight.fill(weight, bias)
    found = nonlinearity(features @ head.before.T + head.before_bias) @ head.after.T + head.after_bias
    torch.testing.assert_close(found, features @ weight.T + bias, rtol=0, atol=2e-4)
    again = straight.read(head)
    torch.testing.assert_close(again, (weight, bias), rtol=0, atol=1e-4)
