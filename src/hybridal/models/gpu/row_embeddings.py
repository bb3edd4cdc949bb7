"""The embeddings of a row of texts, with gradients that are added up in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from hybridal.models.gpu.token_row import Row


class Lookups:
    """The tables of an encoder's embeddings, which know of the row that is being read."""

    def __init__(self, embeddings: Any) -> None:
        self.words: nn.Embedding = embeddings.word_embeddings
        # Where positions start after the padding's, the embeddings know its number.
        self.offset = getattr(embeddings, "padding_idx", -1) + 1
        self.row: Row | None = None
        self.being_read: Row | None = None
        self.gradient: Tensor | None = None
        self._teach(self.words, _Words)
        self._teach(embeddings.position_embeddings, _Positions)
        if kinds := getattr(embeddings, "token_type_embeddings", None):
            self._teach(kinds, _Kinds)

    @contextmanager
    def reading(self, row: Row) -> Iterator[None]:
        """Inside, the encoder looks up what is in this row."""
        self.row = self.being_read = row
        try:
            yield
        finally:
            self.being_read = None

    def heard(self) -> tuple[Tensor, Tensor, Tensor]:
        """The words of the last row, their order, and the gradient of what was looked up for each of its tokens."""
        assert self.row is not None
        assert self.gradient is not None
        return self.row.values[0], self.row.order, self.gradient

    def _teach(self, table: nn.Embedding, lookup: Any) -> None:
        own = table.forward
        table.forward = lambda ids: lookup.apply(ids, table.weight, self) if self.being_read is not None else own(ids)


class _Words(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, lookups: Lookups) -> Tensor:
        ctx.lookups = lookups
        return nn.functional.embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[None, None, None]:
        """The optimiser reads the gradient from here: as a table it would be zero nearly everywhere."""
        ctx.lookups.gradient = above[0].contiguous()
        return None, None, None


class _Positions(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, lookups: Lookups) -> Tensor:
        ctx.row, ctx.shape, ctx.offset = lookups.row, weight.shape, lookups.offset
        return nn.functional.embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[None, Tensor, None]:
        row, found = ctx.row, above.new_zeros(ctx.shape)
        texts, width = len(row.lengths), above.shape[2]
        # A row's `longest` is rounded up, beyond what a small table has positions for.
        _positions[(min(row.longest, len(found) - ctx.offset),)](
            above.contiguous(), row.lengths, found[ctx.offset :], texts, width, triton.next_power_of_2(texts),
            triton.next_power_of_2(width),
        )  # fmt: skip
        return None, found, None


class _Kinds(torch.autograd.Function):  # type: ignore[misc]
    """Of texts that are all of the first kind."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, _lookups: Lookups) -> Tensor:
        ctx.shape = weight.shape
        return weight[0].expand(*ids.shape, -1)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[None, Tensor, None]:
        found = above.new_zeros(ctx.shape)
        torch.sum(above, dim=(0, 1), out=found[0])
        return None, found, None


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
