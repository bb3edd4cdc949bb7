"""A word embedding for the processor whose gradient stays in one place.

A batch touches a few hundred of thirty thousand rows. Torch makes a new gradient of the whole table for each batch;
on a processor, filling it with zeros takes as long as all attention does.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn, zeros_like
from torch.autograd import Function

from hybridal.models.encoders.layers import Embedding


class RowGradientEmbedding(Embedding):
    """An embedding whose backward pass clears and writes only the rows of words that occur."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self._gradient: Tensor | None = None
        self._written: list[Tensor] = []

    def forward(self, words: Tensor) -> Tensor:
        found: Tensor = _Rows.apply(self.weight, words, self)
        return found

    def add_gradient(self, words: Tensor, gradient: Tensor) -> None:
        """Add to the weight's gradient; if that was cleared, start from zeros."""
        if self._gradient is None:
            self._gradient = zeros_like(self.weight)
        if self.weight.grad is None:
            for rows in self._written:
                self._gradient.index_fill_(0, rows, 0.0)
            self._written.clear()
            self.weight.grad = self._gradient
        rows = words.flatten()
        self._written.append(rows)
        self.weight.grad.index_add_(0, rows, gradient.reshape(len(rows), -1))
        if self.padding_idx is not None:
            self.weight.grad[self.padding_idx] = 0.0


class _Rows(Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, weight: Tensor, words: Tensor, table: RowGradientEmbedding) -> Tensor:
        ctx.save_for_backward(words)
        ctx.table = table
        return nn.functional.embedding(words, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        (words,) = ctx.saved_tensors
        ctx.table.add_gradient(words, gradients[0])
        return None, None, None
