"""What one pass of a classifier over some texts gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]

UNKNOWN = -1  # the label of a text that has none yet


@dataclass(frozen=True)
class Outputs:
    """Row i of every array belongs to the i-th text that was asked for.

    `logits` is (N, C). `hidden`, (N, H), is the last hidden state at position 0; `embedding`, (N, E), is what
    the last linear layer receives. Both are None unless features were asked for.
    """

    logits: Floats
    hidden: Floats | None = None
    embedding: Floats | None = None
