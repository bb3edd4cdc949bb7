"""A bias of attention by how far apart two tokens are, as MPNet's layers share it: for kernels, and its gradient."""

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
    """(heads, 2 longest - 1), from the key that is farthest before its query to the one that is farthest after it.

    None where an encoder has no such bias. As a product, whose gradient adds up in the same order each time.
    """
    if not isinstance(encoder, MPNet):
        return None
    weight = encoder.encoder.relative_attention_bias.weight
    apart: Any = torch.arange(1 - longest, longest, device=weight.device)
    buckets = bucket_of(apart)
    chosen = buckets[None, :] == torch.arange(len(weight), device=weight.device)[:, None]
    return weight.t() @ chosen.to(weight.dtype)


def sums_by_distance(pairs: Tensor, positions: Tensor) -> Tensor:
    """The gradient of such a bias, from that of each pair of (head, query, key): one place for each distance."""
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
