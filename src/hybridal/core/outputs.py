"""The outputs of a classifier for some texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]

UNKNOWN = -1  # the label of an unlabelled text


@dataclass(frozen=True)
class Outputs:
    """The outputs of one pass; row i of every array belongs to the i-th text.

    Attributes:
        logits: The logits, (N, C).
        hidden: The last hidden state at position 0, (N, H); None unless the pass keeps features.
        embedding: The input of the last linear layer, (N, E); None unless the pass keeps features.
    """

    logits: Floats
    hidden: Floats | None = None
    embedding: Floats | None = None
