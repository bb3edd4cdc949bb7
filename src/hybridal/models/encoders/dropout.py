"""Dropout on a processor: sixteen random bits an element are plenty, where torch draws a whole double for each."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn

LEVELS = 2**16


def draw_mask(shape: Sequence[int], rate: float) -> Tensor:
    """Zero for the elements to drop; the rest make up for them, so that the mean stays one. Torch's generator draws.

    Of a rate of one, an element in 65,536 is left.

    >>> mask = draw_mask((100, 100), rate=0.5)
    >>> sorted(set(mask.flatten().tolist()))
    [0.0, 2.0]
    """
    size, dropped = prod(shape), min(round(rate * LEVELS), LEVELS - 1)
    # From the lowest number on: by itself `random_` draws none below zero, and so one bit less.
    words = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None)
    mask = torch.empty(size, dtype=torch.float32)
    torch.ge(words.view(torch.int16)[:size], dropped - LEVELS // 2, out=mask)
    return mask.mul_(LEVELS / (LEVELS - dropped)).view(shape)


class LightDropout(nn.Dropout):  # type: ignore[misc]
    """As torch's own, with masks that are drawn here."""

    def forward(self, values: Tensor) -> Tensor:
        return values * draw_mask(values.shape, self.p) if self.training and self.p else values


def lighten_dropout(module: nn.Module) -> None:
    """Puts light dropout in the place of all of a model's."""
    for parent in list(module.modules()):
        for name, layer in parent.named_children():
            if type(layer) is nn.Dropout:
                setattr(parent, name, LightDropout(layer.p).train(layer.training))
