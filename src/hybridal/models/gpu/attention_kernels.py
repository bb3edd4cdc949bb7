"""Attention inside each text of a row, forward and backward, as Triton kernels.

A program has a block of one text's queries (backward, of its keys) in one head, and goes through the text's blocks in
order: deterministic accumulation, and O(n) memory.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hybridal.models.gpu.layer_kernels import Dropout, dropout_factor

# Tokens of a block: at least what a product needs, at most what fits into shared memory.
MIN_BLOCK, MAX_BLOCK = 16, 64
# Blocks of a head, and of the bias, that the backward pass holds at once.
HEAD_BLOCKS, BIAS_BLOCKS = 10, 3


class Attention:
    """Of a row of (queries, keys, values) of all heads; `longest` is the length that no text exceeds.

    `bias` is added to the products of each head by how far the key is from the query (`distance_bias.py`). No block has
    more than `most` tokens.
    """

    def __init__(
        self, heads: int, lengths: Tensor, longest: int, bias: Tensor | None = None, most: int = MAX_BLOCK
    ) -> None:
        self.heads, self.lengths, self.longest, self.bias = heads, lengths, longest, bias
        self.block = max(MIN_BLOCK, min(most, triton.next_power_of_2(longest)))
        # One more than texts, for the padding at the row's end.
        self.grid = (len(lengths) + 1, heads, triton.cdiv(longest, self.block))

    def forward(self, qkv: Tensor, dropout: Dropout) -> tuple[Tensor, Tensor]:
        """Return the attention output of each token, and the log-sum-exp of its scores in each head."""
        tokens, width = len(qkv), qkv.shape[1] // 3
        gathered = qkv.new_empty((tokens, width))
        sums = qkv.new_empty((self.heads, tokens), dtype=torch.float32)
        bias = sums if self.bias is None else self.bias  # none is read
        _attend[self.grid](
            qkv, gathered, sums, bias, self.lengths, *dropout.arguments, *self._sizes(tokens, width, dropout)
        )  # fmt: skip
        return gathered, sums

    def backward(
        self, above: Tensor, qkv: Tensor, gathered: Tensor, sums: Tensor, dropout: Dropout
    ) -> tuple[Tensor, Tensor | None]:
        """Return the gradient of `qkv`, and that of the bias if there is one.

        The bias has a gradient for each (head, query, key), by their places in the text.
        """
        tokens, width = gathered.shape
        found = torch.empty_like(qkv)
        pairs = None if self.bias is None else sums.new_zeros((self.heads, tokens, self.longest))
        given = (above, qkv, gathered, sums, found, sums if self.bias is None else self.bias)
        rest = (self.lengths, *dropout.arguments, *self._sizes(tokens, width, dropout))
        whole = self.grid[2] == 1
        _back_to_keys[self.grid](*given, sums if pairs is None else pairs, *rest, whole)
        if not whole:
            _back_to_queries[self.grid](*given, *rest)
        return found, pairs

    def _sizes(self, tokens: int, width: int, dropout: Dropout) -> tuple[object, ...]:
        side = width // self.heads
        block_of_side, texts = max(16, triton.next_power_of_2(side)), len(self.lengths)
        scale = side**-0.5
        return (
            scale, tokens, width, side, texts, self.longest, self.heads,
            triton.next_power_of_2(texts), self.block, block_of_side, dropout.rate > 0, self.bias is not None,
        )  # fmt: skip


def max_block_size(side: int, size: int, biased: bool, room: int | None) -> int:
    """The largest block, in tokens, for heads of `side` columns of `size` bytes that fits into `room` bytes.

    With a bias on an H200, and on an RTX 4090:

    >>> max_block_size(64, 2, True, 227 * 1024), max_block_size(64, 2, True, 99 * 1024)
    (64, 32)
    """
    block = MAX_BLOCK
    while room is not None and block > MIN_BLOCK:
        of_bias = BIAS_BLOCKS * block * 4 if biased else 0
        if block * (HEAD_BLOCKS * triton.next_power_of_2(side) * size + of_bias) <= room:
            break
        block //= 2
    return block


def shared_memory_bytes(device: torch.device) -> int | None:
    """Bytes of shared memory that a program may use; None if unknown."""
    if device.type != "cuda":
        return None
    return getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", None)


@triton.jit  # type: ignore[untyped-decorator]
def _span(
    lengths: tl.tensor, texts: tl.tensor, text: tl.tensor, tokens: tl.tensor, TEXTS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """Where a text begins, and how long it is; after the last one, the padding."""
    index = tl.arange(0, TEXTS)
    all_of_them = tl.load(lengths + index, mask=index < texts, other=0)
    start = tl.sum(tl.where(index < text, all_of_them, 0))
    return start, tl.where(text == texts, tokens - start, tl.sum(tl.where(index == text, all_of_them, 0)))


@triton.jit  # type: ignore[untyped-decorator]
def _block(
    values: tl.tensor, start: tl.tensor, token: tl.tensor, length: tl.tensor, stride: tl.tensor, side: tl.tensor,
    SIDE: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    column = tl.arange(0, SIDE)
    there = (token < length)[:, None] & (column < side)[None, :]
    return tl.load(values + (start + token)[:, None] * stride + column[None, :], mask=there, other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _keep(
    values: tl.tensor, found: tl.tensor, start: tl.tensor, token: tl.tensor, length: tl.tensor, stride: tl.tensor,
    side: tl.tensor, SIDE: tl.constexpr,
) -> None:  # fmt: skip
    column = tl.arange(0, SIDE)
    there = (token < length)[:, None] & (column < side)[None, :]
    tl.store(values + (start + token)[:, None] * stride + column[None, :], found, mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def _clear(
    values: tl.tensor, start: tl.tensor, length: tl.tensor, stride: tl.tensor, side: tl.tensor,
    BLOCK: tl.constexpr, SIDE: tl.constexpr,
) -> None:  # fmt: skip
    """Zero where padding is, so that products with it are zero."""
    nothing = tl.zeros((BLOCK, SIDE), tl.float32)
    for first in range(tl.program_id(2) * BLOCK, length, tl.num_programs(2) * BLOCK):
        _keep(values, nothing, start, first + tl.arange(0, BLOCK), length, stride, side, SIDE)


@triton.jit  # type: ignore[untyped-decorator]
def _places(
    text: tl.tensor, head: tl.tensor, heads: tl.tensor, query: tl.tensor, key: tl.tensor, longest: tl.tensor
) -> tl.tensor:
    """Where dropout draws for a pair of tokens."""
    return ((text * heads + head) * longest + query[:, None]) * longest + key[None, :]


@triton.jit  # type: ignore[untyped-decorator]
def _products(
    q: tl.tensor, k: tl.tensor, scale: tl.tensor, bias: tl.tensor, head: tl.tensor, query: tl.tensor, key: tl.tensor,
    longest: tl.tensor, BIAS: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    found = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    if BIAS:
        apart, span = key[None, :] - query[:, None] + longest - 1, 2 * longest - 1
        found += tl.load(bias + head * span + apart, mask=(apart >= 0) & (apart < span), other=0.0)
    return found


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _attend(
    qkv: tl.tensor, gathered: tl.tensor, sums: tl.tensor, bias: tl.tensor, lengths: tl.tensor,
    seed: tl.tensor, site: tl.tensor, rate: tl.tensor,
    scale: tl.tensor, tokens: tl.tensor, width: tl.tensor, side: tl.tensor, texts: tl.tensor, longest: tl.tensor,
    heads: tl.tensor, TEXTS: tl.constexpr, BLOCK: tl.constexpr, SIDE: tl.constexpr, DROPOUT: tl.constexpr,
    BIAS: tl.constexpr,
) -> None:  # fmt: skip
    text, head, first = tl.program_id(0), tl.program_id(1), tl.program_id(2) * BLOCK
    start, length = _span(lengths, texts, text, tokens, TEXTS)
    if text == texts:
        _clear(gathered + head * side, start, length, width, side, BLOCK, SIDE)
        return
    if first >= length:
        return
    qkv += head * side
    query = first + tl.arange(0, BLOCK)
    q = _block(qkv, start, query, length, 3 * width, side, SIDE)
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    found = tl.zeros((BLOCK, SIDE), tl.float32)
    for other in range(0, length, BLOCK):
        key = other + tl.arange(0, BLOCK)
        k = _block(qkv + width, start, key, length, 3 * width, side, SIDE)
        v = _block(qkv + 2 * width, start, key, length, 3 * width, side, SIDE)
        products = _products(q, k, scale, bias, head, query, key, longest, BIAS)
        products = tl.where((key < length)[None, :], products, float("-inf"))
        higher = tl.maximum(highest, tl.max(products, axis=1))
        shares = tl.exp(products - higher[:, None])
        fading = tl.exp(highest - higher)
        total = total * fading + tl.sum(shares, axis=1)
        if DROPOUT:
            shares *= dropout_factor(seed, site, rate, _places(text, head, heads, query, key, longest))
        found = found * fading[:, None] + tl.dot(shares.to(v.dtype), v, input_precision="ieee")
        highest = higher
    _keep(gathered + head * side, found / total[:, None], start, query, length, width, side, SIDE)
    tl.store(sums + head * tokens + start + query, highest + tl.log(total), mask=query < length)


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _back_to_keys(
    above: tl.tensor, qkv: tl.tensor, gathered: tl.tensor, sums: tl.tensor, found: tl.tensor, bias: tl.tensor,
    pairs: tl.tensor, lengths: tl.tensor, seed: tl.tensor, site: tl.tensor, rate: tl.tensor,
    scale: tl.tensor, tokens: tl.tensor, width: tl.tensor, side: tl.tensor, texts: tl.tensor, longest: tl.tensor,
    heads: tl.tensor, TEXTS: tl.constexpr, BLOCK: tl.constexpr, SIDE: tl.constexpr, DROPOUT: tl.constexpr,
    BIAS: tl.constexpr, WHOLE: tl.constexpr,
) -> None:  # fmt: skip
    """The gradients of keys and values; where a text is one block, those of its queries too."""
    text, head, first = tl.program_id(0), tl.program_id(1), tl.program_id(2) * BLOCK
    start, length = _span(lengths, texts, text, tokens, TEXTS)
    found += head * side
    if text == texts:
        for part in tl.static_range(3):
            _clear(found + part * width, start, length, 3 * width, side, BLOCK, SIDE)
        return
    if first >= length:
        return
    qkv += head * side
    key = first + tl.arange(0, BLOCK)
    k = _block(qkv + width, start, key, length, 3 * width, side, SIDE)
    v = _block(qkv + 2 * width, start, key, length, 3 * width, side, SIDE)
    of_keys = tl.zeros((BLOCK, SIDE), tl.float32)
    of_values = tl.zeros((BLOCK, SIDE), tl.float32)
    for other in range(0, length, BLOCK):
        query = other + tl.arange(0, BLOCK)
        q = _block(qkv, start, query, length, 3 * width, side, SIDE)
        gradient = _block(above + head * side, start, query, length, width, side, SIDE)
        own = _block(gathered + head * side, start, query, length, width, side, SIDE)
        level = tl.sum(gradient.to(tl.float32) * own.to(tl.float32), axis=1)
        logarithm = tl.load(sums + head * tokens + start + query, mask=query < length, other=0.0)
        products = _products(q, k, scale, bias, head, query, key, longest, BIAS)
        inside = (query < length)[:, None] & (key < length)[None, :]
        shares = tl.where(inside, tl.exp(products - logarithm[:, None]), 0.0)
        of_shares = tl.dot(gradient, tl.trans(v), input_precision="ieee")
        if DROPOUT:
            mask = dropout_factor(seed, site, rate, _places(text, head, heads, query, key, longest))
            of_values += tl.dot(tl.trans((shares * mask).to(v.dtype)), gradient, input_precision="ieee")
            of_shares *= mask
        else:
            of_values += tl.dot(tl.trans(shares.to(v.dtype)), gradient, input_precision="ieee")
        of_pairs = shares * (of_shares - level[:, None])
        if BIAS:
            rows = (head * tokens + start + query).to(tl.int64)  # many long texts have more pairs than 32 bits count
            tl.store(pairs + rows[:, None] * longest + key[None, :], of_pairs, mask=inside)
        of_products = (of_pairs * scale).to(k.dtype)
        of_keys += tl.dot(tl.trans(of_products), q, input_precision="ieee")
        if WHOLE:
            of_queries = tl.dot(of_products, k, input_precision="ieee")
            _keep(found, of_queries, start, query, length, 3 * width, side, SIDE)
    _keep(found + width, of_keys, start, key, length, 3 * width, side, SIDE)
    _keep(found + 2 * width, of_values, start, key, length, 3 * width, side, SIDE)


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _back_to_queries(
    above: tl.tensor, qkv: tl.tensor, gathered: tl.tensor, sums: tl.tensor, found: tl.tensor, bias: tl.tensor,
    lengths: tl.tensor, seed: tl.tensor, site: tl.tensor, rate: tl.tensor,
    scale: tl.tensor, tokens: tl.tensor, width: tl.tensor, side: tl.tensor, texts: tl.tensor, longest: tl.tensor,
    heads: tl.tensor, TEXTS: tl.constexpr, BLOCK: tl.constexpr, SIDE: tl.constexpr, DROPOUT: tl.constexpr,
    BIAS: tl.constexpr,
) -> None:  # fmt: skip
    text, head, first = tl.program_id(0), tl.program_id(1), tl.program_id(2) * BLOCK
    start, length = _span(lengths, texts, text, tokens, TEXTS)
    if (text == texts) | (first >= length):
        return
    qkv += head * side
    query = first + tl.arange(0, BLOCK)
    q = _block(qkv, start, query, length, 3 * width, side, SIDE)
    gradient = _block(above + head * side, start, query, length, width, side, SIDE)
    own = _block(gathered + head * side, start, query, length, width, side, SIDE)
    level = tl.sum(gradient.to(tl.float32) * own.to(tl.float32), axis=1)
    logarithm = tl.load(sums + head * tokens + start + query, mask=query < length, other=0.0)
    of_queries = tl.zeros((BLOCK, SIDE), tl.float32)
    for other in range(0, length, BLOCK):
        key = other + tl.arange(0, BLOCK)
        k = _block(qkv + width, start, key, length, 3 * width, side, SIDE)
        v = _block(qkv + 2 * width, start, key, length, 3 * width, side, SIDE)
        products = _products(q, k, scale, bias, head, query, key, longest, BIAS)
        inside = (query < length)[:, None] & (key < length)[None, :]
        shares = tl.where(inside, tl.exp(products - logarithm[:, None]), 0.0)
        of_shares = tl.dot(gradient, tl.trans(v), input_precision="ieee")
        if DROPOUT:
            of_shares *= dropout_factor(seed, site, rate, _places(text, head, heads, query, key, longest))
        of_products = (shares * (of_shares - level[:, None]) * scale).to(k.dtype)
        of_queries += tl.dot(of_products, k, input_precision="ieee")
    _keep(found + head * side, of_queries, start, query, length, 3 * width, side, SIDE)
