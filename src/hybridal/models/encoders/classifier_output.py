"""What every classifier module returns."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class ClassifierOutput(NamedTuple):
    """What a classifier computes for each text.

    Attributes:
        logits: (texts, classes).
        hidden: What the encoder's states come to: their mean, or the first of them.
        embedding: The input of the last linear layer.
    """

    logits: Tensor
    hidden: Tensor
    embedding: Tensor
