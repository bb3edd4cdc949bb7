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
    """Attention over a row of (queries, keys, values) of all heads; no text is longer than `longest`.

    `bias` is added to the scores of each head, by the distance of the key from the query (`distance_bias.py`). No block
    has more than `max_block` tokens.
    """

    def __init__(
        self, heads: int, lengths: Tensor, longest: int, bias: Tensor | None = None, max_block: int = MAX_BLOCK
    ) -> None:
        self.heads, self.lengths, self.longest, self.bias = heads, lengths, longest, bias
        self.block = max(MIN_BLOCK, min(max_block, triton.next_power_of_2(longest)))
        # One more than texts, for the padding at the row's end.
        self.grid = (len(lengths) + 1, heads, triton.cdiv(longest, self.block))

    def forward(self, qkv: Tensor, dropout: Dropout) -> tuple[Tensor, Tensor]:
        """Return the attention output of each token, and the log-sum-exp of its scores in each head."""
        tokens, width = len(qkv), qkv.shape[1] // 3
        output = qkv.new_empty((tokens, width))
        log_sums = qkv.new_empty((self.heads, tokens), dtype=torch.float32)
        bias = log_sums if self.bias is None else self.bias  # none is read
        _attend[self.grid](
            qkv, output, log_sums, bias, self.lengths, *dropout.arguments, *self._sizes(tokens, width, dropout)
        )  # fmt: skip
        return output, log_sums

    def backward(
        self, grad_output: Tensor, qkv: Tensor, output: Tensor, log_sums: Tensor, dropout: Dropout
    ) -> tuple[Tensor, Tensor | None]:
        """Return the gradient of `qkv`, and that of the bias if there is one.

        The bias has a gradient for each (head, query, key), by their positions in the text.
        """
        tokens, width = output.shape
        grad_qkv = torch.empty_like(qkv)
        grad_bias = None if self.bias is None else log_sums.new_zeros((self.heads, tokens, self.longest))
        arrays = (grad_output, qkv, output, log_sums, grad_qkv, log_sums if self.bias is None else self.bias)
        sizes = (self.lengths, *dropout.arguments, *self._sizes(tokens, width, dropout))
        one_block = self.grid[2] == 1
        _key_gradients[self.grid](*arrays, log_sums if grad_bias is None else grad_bias, *sizes, one_block)
        if not one_block:
            _query_gradients[self.grid](*arrays, *sizes)
        return grad_qkv, grad_bias

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
    """Return the start and the length of a text; after the last text, those of the padding."""
    index = tl.arange(0, TEXTS)
    all_lengths = tl.load(lengths + index, mask=index < texts, other=0)
    start = tl.sum(tl.where(index < text, all_lengths, 0))
    return start, tl.where(text == texts, tokens - start, tl.sum(tl.where(index == text, all_lengths, 0)))


@triton.jit  # type: ignore[untyped-decorator]
def _load(
    values: tl.tensor, start: tl.tensor, token: tl.tensor, length: tl.tensor, stride: tl.tensor, side: tl.tensor,
    SIDE: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    column = tl.arange(0, SIDE)
    there = (token < length)[:, None] & (column < side)[None, :]
    return tl.load(values + (start + token)[:, None] * stride + column[None, :], mask=there, other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _store(
    values: tl.tensor, block: tl.tensor, start: tl.tensor, token: tl.tensor, length: tl.tensor, stride: tl.tensor,
    side: tl.tensor, SIDE: tl.constexpr,
) -> None:  # fmt: skip
    column = tl.arange(0, SIDE)
    there = (token < length)[:, None] & (column < side)[None, :]
    tl.store(values + (start + token)[:, None] * stride + column[None, :], block, mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def _clear(
    values: tl.tensor, start: tl.tensor, length: tl.tensor, stride: tl.tensor, side: tl.tensor,
    BLOCK: tl.constexpr, SIDE: tl.constexpr,
) -> None:  # fmt: skip
    """Write zeros where padding is, so that products with it are zero."""
    zeros = tl.zeros((BLOCK, SIDE), tl.float32)
    for first in range(tl.program_id(2) * BLOCK, length, tl.num_programs(2) * BLOCK):
        _store(values, zeros, start, first + tl.arange(0, BLOCK), length, stride, side, SIDE)


@triton.jit  # type: ignore[untyped-decorator]
def _dropout_positions(
    text: tl.tensor, head: tl.tensor, heads: tl.tensor, query: tl.tensor, key: tl.tensor, longest: tl.tensor
) -> tl.tensor:
    """Return the positions for which dropout draws, one for each pair of tokens."""
    return ((text * heads + head) * longest + query[:, None]) * longest + key[None, :]


@triton.jit  # type: ignore[untyped-decorator]
def _scores(
    q: tl.tensor, k: tl.tensor, scale: tl.tensor, bias: tl.tensor, head: tl.tensor, query: tl.tensor, key: tl.tensor,
    longest: tl.tensor, BIAS: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    if BIAS:
        distance, span = key[None, :] - query[:, None] + longest - 1, 2 * longest - 1
        scores += tl.load(bias + head * span + distance, mask=(distance >= 0) & (distance < span), other=0.0)
    return scores


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _attend(
    qkv: tl.tensor, output: tl.tensor, log_sums: tl.tensor, bias: tl.tensor, lengths: tl.tensor,
    seed: tl.tensor, site: tl.tensor, rate: tl.tensor,
    scale: tl.tensor, tokens: tl.tensor, width: tl.tensor, side: tl.tensor, texts: tl.tensor, longest: tl.tensor,
    heads: tl.tensor, TEXTS: tl.constexpr, BLOCK: tl.constexpr, SIDE: tl.constexpr, DROPOUT: tl.constexpr,
    BIAS: tl.constexpr,
) -> None:  # fmt: skip
    text, head, first = tl.program_id(0), tl.program_id(1), tl.program_id(2) * BLOCK
    start, length = _span(lengths, texts, text, tokens, TEXTS)
    if text == texts:
        _clear(output + head * side, start, length, width, side, BLOCK, SIDE)
        return
    if first >= length:
        return
    qkv += head * side
    query = first + tl.arange(0, BLOCK)
    q = _load(qkv, start, query, length, 3 * width, side, SIDE)
    maximum = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    accumulated = tl.zeros((BLOCK, SIDE), tl.float32)
    for block_start in range(0, length, BLOCK):
        key = block_start + tl.arange(0, BLOCK)
        k = _load(qkv + width, start, key, length, 3 * width, side, SIDE)
        v = _load(qkv + 2 * width, start, key, length, 3 * width, side, SIDE)
        scores = _scores(q, k, scale, bias, head, query, key, longest, BIAS)
        scores = tl.where((key < length)[None, :], scores, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_maximum[:, None])
        rescale = tl.exp(maximum - new_maximum)
        total = total * rescale + tl.sum(weights, axis=1)
        if DROPOUT:
            weights *= dropout_factor(seed, site, rate, _dropout_positions(text, head, heads, query, key, longest))
        accumulated = accumulated * rescale[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        maximum = new_maximum
    _store(output + head * side, accumulated / total[:, None], start, query, length, width, side, SIDE)
    tl.store(log_sums + head * tokens + start + query, maximum + tl.log(total), mask=query < length)


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _key_gradients(
    grad_output: tl.tensor, qkv: tl.tensor, output: tl.tensor, log_sums: tl.tensor, grad_qkv: tl.tensor,
    bias: tl.tensor, grad_bias: tl.tensor, lengths: tl.tensor, seed: tl.tensor, site: tl.tensor, rate: tl.tensor,
    scale: tl.tensor, tokens: tl.tensor, width: tl.tensor, side: tl.tensor, texts: tl.tensor, longest: tl.tensor,
    heads: tl.tensor, TEXTS: tl.constexpr, BLOCK: tl.constexpr, SIDE: tl.constexpr, DROPOUT: tl.constexpr,
    BIAS: tl.constexpr, ONE_BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """Compute the gradients of keys and values; if a text is one block, also those of its queries."""
    text, head, first = tl.program_id(0), tl.program_id(1), tl.program_id(2) * BLOCK
    start, length = _span(lengths, texts, text, tokens, TEXTS)
    grad_qkv += head * side
    if text == texts:
        for part in tl.static_range(3):
            _clear(grad_qkv + part * width, start, length, 3 * width, side, BLOCK, SIDE)
        return
    if first >= length:
        return
    qkv += head * side
    key = first + tl.arange(0, BLOCK)
    k = _load(qkv + width, start, key, length, 3 * width, side, SIDE)
    v = _load(qkv + 2 * width, start, key, length, 3 * width, side, SIDE)
    grad_keys = tl.zeros((BLOCK, SIDE), tl.float32)
    grad_values = tl.zeros((BLOCK, SIDE), tl.float32)
    for block_start in range(0, length, BLOCK):
        query = block_start + tl.arange(0, BLOCK)
        q = _load(qkv, start, query, length, 3 * width, side, SIDE)
        gradient = _load(grad_output + head * side, start, query, length, width, side, SIDE)
        attended = _load(output + head * side, start, query, length, width, side, SIDE)
        row_sums = tl.sum(gradient.to(tl.float32) * attended.to(tl.float32), axis=1)
        log_sum = tl.load(log_sums + head * tokens + start + query, mask=query < length, other=0.0)
        scores = _scores(q, k, scale, bias, head, query, key, longest, BIAS)
        inside = (query < length)[:, None] & (key < length)[None, :]
        weights = tl.where(inside, tl.exp(scores - log_sum[:, None]), 0.0)
        grad_weights = tl.dot(gradient, tl.trans(v), input_precision="ieee")
        if DROPOUT:
            mask = dropout_factor(seed, site, rate, _dropout_positions(text, head, heads, query, key, longest))
            grad_values += tl.dot(tl.trans((weights * mask).to(v.dtype)), gradient, input_precision="ieee")
            grad_weights *= mask
        else:
            grad_values += tl.dot(tl.trans(weights.to(v.dtype)), gradient, input_precision="ieee")
        grad_scores = weights * (grad_weights - row_sums[:, None])
        if BIAS:
            # Many long texts have more pairs of tokens than 32 bits can count.
            rows = (head * tokens + start + query).to(tl.int64)
            tl.store(grad_bias + rows[:, None] * longest + key[None, :], grad_scores, mask=inside)
        grad_products = (grad_scores * scale).to(k.dtype)
        grad_keys += tl.dot(tl.trans(grad_products), q, input_precision="ieee")
        if ONE_BLOCK:
            grad_queries = tl.dot(grad_products, k, input_precision="ieee")
            _store(grad_qkv, grad_queries, start, query, length, 3 * width, side, SIDE)
    _store(grad_qkv + width, grad_keys, start, key, length, 3 * width, side, SIDE)
    _store(grad_qkv + 2 * width, grad_values, start, key, length, 3 * width, side, SIDE)


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _query_gradients(
    grad_output: tl.tensor, qkv: tl.tensor, output: tl.tensor, log_sums: tl.tensor, grad_qkv: tl.tensor,
    bias: tl.tensor, lengths: tl.tensor, seed: tl.tensor, site: tl.tensor, rate: tl.tensor,
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
    q = _load(qkv, start, query, length, 3 * width, side, SIDE)
    gradient = _load(grad_output + head * side, start, query, length, width, side, SIDE)
    attended = _load(output + head * side, start, query, length, width, side, SIDE)
    row_sums = tl.sum(gradient.to(tl.float32) * attended.to(tl.float32), axis=1)
    log_sum = tl.load(log_sums + head * tokens + start + query, mask=query < length, other=0.0)
    grad_queries = tl.zeros((BLOCK, SIDE), tl.float32)
    for block_start in range(0, length, BLOCK):
        key = block_start + tl.arange(0, BLOCK)
        k = _load(qkv + width, start, key, length, 3 * width, side, SIDE)
        v = _load(qkv + 2 * width, start, key, length, 3 * width, side, SIDE)
        scores = _scores(q, k, scale, bias, head, query, key, longest, BIAS)
        inside = (query < length)[:, None] & (key < length)[None, :]
        weights = tl.where(inside, tl.exp(scores - log_sum[:, None]), 0.0)
        grad_weights = tl.dot(gradient, tl.trans(v), input_precision="ieee")
        if DROPOUT:
            grad_weights *= dropout_factor(seed, site, rate, _dropout_positions(text, head, heads, query, key, longest))
        grad_products = (weights * (grad_weights - row_sums[:, None]) * scale).to(k.dtype)
        grad_queries += tl.dot(grad_products, k, input_precision="ieee")
    _store(grad_qkv + head * side, grad_queries, start, query, length, 3 * width, side, SIDE)
