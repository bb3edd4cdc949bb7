"""The embeddings of a row of texts, with gradients that are summed in a fixed order."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from hybridal.models.encoders.layers import EmbeddingSum
from hybridal.models.gpu.token_row import TokenRow


class RowEmbeddings:
    """Looks up the tokens of a row in an encoder's embeddings; the tables stay the encoder's own.

    Args:
        embeddings: The embeddings of one of our own encoders.
    """

    def __init__(self, embeddings: EmbeddingSum) -> None:
        self.embeddings = embeddings
        self.words: nn.Embedding = embeddings.word_embeddings
        self.first_position = embeddings.first_position
        self.row: TokenRow | None = None
        self.gradient: Tensor | None = None

    def __call__(self, row: TokenRow) -> Tensor:
        """The embeddings of a row, (1, tokens, width)."""
        self.row = row
        types = getattr(self.embeddings, "token_type_embeddings", None)
        words = _Words.apply(row.values, self.words.weight, self)
        kinds = None if types is None else _TokenTypes.apply(row.values, types.weight)
        table = self.embeddings.position_embeddings.weight
        positions = _Positions.apply(row.positions + self.first_position, table, self)
        return self.embeddings.combine(words, kinds, positions)

    def word_gradients(self) -> tuple[Tensor, Tensor, Tensor]:
        """The words of the last row, their order, and the gradient of what was looked up for each of its tokens."""
        assert self.row is not None
        assert self.gradient is not None
        return self.row.values[0], self.row.order, self.gradient


class _Words(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, table: RowEmbeddings) -> Tensor:
        ctx.table = table
        return nn.functional.embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, None, None]:
        """The optimiser reads the gradient per token; as a table it would be zero nearly everywhere."""
        ctx.table.gradient = grad_output[0].contiguous()
        return None, None, None


class _Positions(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, table: RowEmbeddings) -> Tensor:
        ctx.row, ctx.shape, ctx.first_position = table.row, weight.shape, table.first_position
        return nn.functional.embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor, None]:
        row, found = ctx.row, grad_output.new_zeros(ctx.shape)
        texts, width = len(row.lengths), grad_output.shape[2]
        # `longest` is rounded up, possibly beyond the positions of a small table.
        _positions[(min(row.longest, len(found) - ctx.first_position),)](
            grad_output.contiguous(), row.lengths, found[ctx.first_position :], texts, width,
            triton.next_power_of_2(texts), triton.next_power_of_2(width),
        )  # fmt: skip
        return None, found, None


class _TokenTypes(torch.autograd.Function):  # type: ignore[misc]
    """All tokens are of the first type."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor) -> Tensor:
        ctx.shape = weight.shape
        return weight[0].expand(*ids.shape, -1)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor]:
        found = grad_output.new_zeros(ctx.shape)
        torch.sum(grad_output, dim=(0, 1), out=found[0])
        return None, found


@triton.jit  # type: ignore[untyped-decorator]
def _positions(
    gradient: tl.tensor, lengths: tl.tensor, found: tl.tensor, texts: tl.tensor, width: tl.tensor,
    TEXTS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """Sums over texts at the program's position."""
    position, text, column = tl.program_id(0), tl.arange(0, TEXTS), tl.arange(0, WIDTH)
    length = tl.load(lengths + text, mask=text < texts, other=0)
    at = tl.cumsum(length) - length + position
    there = (position < length)[:, None] & (column < width)[None, :]
    values = tl.load(gradient + at[:, None] * width + column[None, :], mask=there, other=0.0)
    tl.store(found + position * width + column, tl.sum(values, axis=0), mask=column < width)
