"""MPNet's attention bias by the distance of two tokens, in the form that kernels read, and its gradient."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hybridal.models.encoders.layers import Encoder
from hybridal.models.encoders.mpnet import MPNet, bucket_of

# Tokens and distances of a program.
TOKENS, COLUMNS = 32, 128


def by_distance(encoder: Encoder, longest: int) -> Tensor | None:
    """The bias of each distance, (heads, 2 longest - 1), from the farthest key before a query to the farthest after it.

    None if the encoder has no such bias. Computed as a product, whose gradient is deterministic.
    """
    if not isinstance(encoder, MPNet):
        return None
    weight = encoder.encoder.relative_attention_bias.weight
    apart: Any = torch.arange(1 - longest, longest, device=weight.device)
    buckets = bucket_of(apart)
    chosen = buckets[None, :] == torch.arange(len(weight), device=weight.device)[:, None]
    return weight.t() @ chosen.to(weight.dtype)


def sums_by_distance(pairs: Tensor, positions: Tensor) -> Tensor:
    """The gradient of that bias, from the gradient of each (head, query, key)."""
    heads, tokens, longest = pairs.shape
    span, chunks = 2 * longest - 1, triton.cdiv(tokens, TOKENS)
    parts = pairs.new_empty((heads, chunks, span))
    _sum[(heads, chunks, triton.cdiv(span, COLUMNS))](
        pairs, positions, parts, tokens, longest, chunks, TOKENS, COLUMNS
    )  # fmt: skip
    return parts.sum(1)


@triton.jit  # type: ignore[untyped-decorator]
def _sum(
    pairs: tl.tensor, positions: tl.tensor, parts: tl.tensor, tokens: tl.tensor, longest: tl.tensor, chunks: tl.tensor,
    TOKENS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """Over the queries of a program: each reads its row from where the distances begin."""
    head, chunk = tl.program_id(0), tl.program_id(1)
    apart, span = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS), 2 * longest - 1
    token = chunk * TOKENS + tl.arange(0, TOKENS)
    position = tl.load(positions + token, mask=token < tokens, other=0).to(tl.int32)
    key = position[:, None] + apart[None, :] - (longest - 1)
    there = (token < tokens)[:, None] & (key >= 0) & (key < longest)
    row = (head * tokens + token).to(tl.int64)
    values = tl.load(pairs + row[:, None] * longest + key, mask=there, other=0.0)
    tl.store(parts + (head * chunks + chunk) * span + apart, tl.sum(values, axis=0), mask=apart < span)
