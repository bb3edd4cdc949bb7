"""Padded batches as one array of numbers each, to be sent to a GPU in one transfer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hybridal.core.outputs import Ints
from hybridal.models.token_arrays import Tokens

# The label of a row without a text: cross-entropy ignores it.
NO_LABEL = -100


def pack(tokens: Tokens, rows: Ints, labels: Ints | None, size: int, length: int) -> NDArray[np.int32]:
    """`size` rows of a label, a length, and `length` token ids; rows beyond the texts have no label.

    >>> tokens = Tokens(np.array([5, 6, 7]), np.array([0, 1, 3]), pad=0)
    >>> pack(tokens, np.array([1, 0]), np.array([1, 0]), size=3, length=4).tolist()
    [[1, 2, 6, 7, 0, 0], [0, 1, 5, 0, 0, 0], [-100, 1, 0, 0, 0, 0]]
    """
    ids, _ = tokens.batch(rows)
    packed = np.full((size, 2 + length), tokens.pad, dtype=np.int32)
    packed[:, 0] = NO_LABEL
    packed[:, 1] = 1  # attention over no key at all is undefined
    if labels is not None:
        packed[: len(rows), 0] = labels
    packed[: len(rows), 1] = tokens.lengths(rows)
    packed[: len(rows), 2 : 2 + ids.shape[1]] = ids
    return packed


def unpack(packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Labels, token ids, and a boolean attention mask (texts, 1, 1, length)."""
    length = packed.shape[1] - 2
    positions: Any = torch.arange(length, device=packed.device)
    mask = positions[None, :] < packed[:, 1, None]
    return packed[:, 0].long(), packed[:, 2:].long(), mask[:, None, None, :]


def bucket(length: int, step: int, most: int) -> int:
    """Round a length up to a multiple of `step`, but not above `most`.

    >>> bucket(1, 16, 512), bucket(16, 16, 512), bucket(17, 16, 512), bucket(17, 16, 20)
    (16, 16, 32, 20)
    """
    return min(-(-length // step) * step, most)
