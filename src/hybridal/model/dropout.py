"""Dropout on a processor: sixteen random bits an element are plenty, where torch draws a whole double for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import torch
from torch import Tensor, nn

LEVELS = 2**16


def draw_mask(shape: Sequence[int], rate: float) -> Tensor:
    """Zero for the elements to drop; the rest make up for them, so that the mean stays one. Torch's generator draws.

    >>> mask = draw_mask((100, 100), rate=0.5)
    >>> sorted(set(mask.flatten().tolist()))
    [0.0, 2.0]
    """
    size, dropped = prod(shape), min(round(rate * LEVELS), LEVELS - 1)
    words = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None)
    mask = torch.empty(size)
    torch.ge(words.view(torch.int16)[:size], dropped - LEVELS // 2, out=mask)
    return mask.mul_(LEVELS / (LEVELS - dropped)).view(shape)


def lighten_dropout(module: nn.Module) -> None:
    """Makes all dropout layers of a model draw their masks here."""
    for layer in module.modules():
        if type(layer) is nn.Dropout:
            layer.forward = partial(_drop, layer)


def _drop(layer: nn.Dropout, values: Tensor) -> Tensor:
    return values * draw_mask(values.shape, layer.p) if layer.training and layer.p else values
