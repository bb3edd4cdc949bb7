"""The word embeddings' gradient, kept in one place: a batch touches a few hundred of thirty thousand rows.

Torch makes a new gradient of the whole table for each batch. On a processor, filling it with zeros takes as long as
all attention does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Lookup:
    """Looks words up in an embedding. Its backward pass clears and writes only the rows of words that occur."""

    def __init__(self, embedding: nn.Embedding) -> None:
        self.weight, self.padding = embedding.weight, embedding.padding_idx
        self._gradient: Tensor | None = None
        self._written: list[Tensor] = []

    def __call__(self, words: Tensor) -> Tensor:
        found: Tensor = _Rows.apply(self.weight, words, self)
        return found

    def add(self, words: Tensor, gradient: Tensor) -> None:
        """Adds to the weight's gradient; where that was cleared, to zeros."""
        if self._gradient is None:
            self._gradient = torch.zeros_like(self.weight)
        if self.weight.grad is None:
            for rows in self._written:
                self._gradient.index_fill_(0, rows, 0.0)
            self._written.clear()
            self.weight.grad = self._gradient
        rows = words.flatten()
        self._written.append(rows)
        self.weight.grad.index_add_(0, rows, gradient.reshape(len(rows), -1))
        if self.padding is not None:
            self.weight.grad[self.padding] = 0.0


class _Rows(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, weight: Tensor, words: Tensor, lookup: Lookup) -> Tensor:
        ctx.save_for_backward(words)
        ctx.lookup = lookup
        return nn.functional.embedding(words, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        (words,) = ctx.saved_tensors
        ctx.lookup.add(words, gradients[0])
        return None, None, None
