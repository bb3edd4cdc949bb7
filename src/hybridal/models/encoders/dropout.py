"""Fast dropout for the processor: sixteen random bits per element are enough; torch draws a double for each."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn

LEVELS = 2**16


def draw_mask(shape: Sequence[int], rate: float) -> Tensor:
    """Draw a mask from torch's generator: 0 for dropped elements; the others are scaled so that the mean stays 1.

    At a rate of one, one element in 65,536 is kept.

    >>> mask = draw_mask((100, 100), rate=0.5)
    >>> sorted(set(mask.flatten().tolist()))
    [0.0, 2.0]
    """
    size, dropped = prod(shape), min(round(rate * LEVELS), LEVELS - 1)
    # With an explicit lower end: `random_()` alone draws no negative numbers, and so one bit less.
    words = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None)
    mask = torch.empty(size, dtype=torch.float32)
    torch.ge(words.view(torch.int16)[:size], dropped - LEVELS // 2, out=mask)
    return mask.mul_(LEVELS / (LEVELS - dropped)).view(shape)


class MaskDropout(nn.Dropout):  # type: ignore[misc]
    """Dropout with masks from `draw_mask`."""

    def forward(self, values: Tensor) -> Tensor:
        return values * draw_mask(values.shape, self.p) if self.training and self.p else values
