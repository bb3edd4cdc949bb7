"""Everything between a layer's matrix products as few Triton kernels: small ones take longer to launch than to run.

Sums over rows have a fixed order, so that the same step gives the same bits: each of `PARTS` programs sums its rows of
a vector's gradient, and `add_parts` sums the parts of all vectors. Dropout computes its masks from a seed and a
position, forward and again backward, and stores none.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

PARTS = 128
# Of a program at a time, forward; and the warps of one, forward and backward.
ROWS, WARPS = 2, (2, 4)
COLUMNS = 128
# Elements that one program computes.
ELEMENTS = 1024


class Dropout:
    """The random stream of one dropout: a seed on the device, and a number (`site`) that no other dropout has."""

    def __init__(self, rate: float, seed: Tensor, site: int) -> None:
        self.rate, self.seed, self.site = rate, seed, site

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.seed, self.site, float(self.rate)


def add_norm(
    residual: Tensor, branch: Tensor, gain: Tensor, bias: Tensor, eps: float, dropout: Dropout, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """LayerNorm(residual + dropout(branch)) in fp32 and in `dtype`, and each row's (mean, 1 / deviation)."""
    rows, width = residual.shape
    exact = torch.empty_like(residual)
    rounded = exact if dtype == exact.dtype else torch.empty_like(residual, dtype=dtype)
    moments = residual.new_empty((2, rows))
    _add_norm[(triton.cdiv(rows, ROWS),)](
        residual, branch, gain, bias, exact, rounded, moments, *dropout.arguments, eps, rows, width,
        triton.next_power_of_2(width), ROWS, rounded is not exact, dropout.rate > 0, num_warps=WARPS[0],
    )  # fmt: skip
    return exact, rounded, moments


def add_norm_backward(
    grad_output: Tensor,
    skip: Tensor | None,
    residual: Tensor,
    branch: Tensor,
    gain: Tensor,
    moments: Tensor,
    dropout: Dropout,
    parts: Tensor,
    at: tuple[int, int],
) -> tuple[Tensor, Tensor]:
    """The gradients of residual and branch; those of gain and bias go into `parts` at these columns.

    The output's gradient is `grad_output`, plus `skip` if the output was used twice.
    """
    rows, width = residual.shape
    grad_residual = torch.empty_like(residual)
    grad_branch = torch.empty_like(branch)
    rows_per_program = 1 if rows <= 8 * PARTS else 4  # with few rows, a row for each program
    _add_norm_backward[(PARTS,)](
        grad_output, grad_output if skip is None else skip, residual, branch, gain, moments, grad_residual,
        grad_branch, parts, *at, parts.shape[1], *dropout.arguments, rows, width, triton.next_power_of_2(width),
        rows_per_program, PARTS, skip is not None, dropout.rate > 0, num_warps=WARPS[1],
    )  # fmt: skip
    return grad_residual, grad_branch


def gelu(values: Tensor) -> Tensor:
    found = torch.empty_like(values)
    _gelu[(triton.cdiv(values.numel(), ELEMENTS),)](values, found, values.numel(), ELEMENTS)
    return found


def add_parts(parts: Tensor, total: Tensor) -> None:
    """The sum of all parts of each vector."""
    _add_parts[(triton.cdiv(parts.shape[1], COLUMNS),)](parts, total, parts.shape[1], COLUMNS, PARTS)


@triton.jit  # type: ignore[untyped-decorator]
def dropout_factor(seed: tl.tensor, site: tl.tensor, rate: tl.tensor, position: tl.tensor) -> tl.tensor:
    """1 / (1 - rate) where an element stays, 0 where it is dropped.

    Two rounds of a hash that changes half of all bits with each bit: a tenth of the work of a generator.
    """
    mixed = position.to(tl.uint32) ^ ((tl.load(seed) + site).to(tl.uint32) * 0x9E3779B1)
    for _ in tl.static_range(2):
        mixed = (mixed ^ (mixed >> 16)) * 0x7FEB352D
        mixed = (mixed ^ (mixed >> 15)) * 0x846CA68B
        mixed = mixed ^ (mixed >> 16)
    return tl.where((mixed >> 8).to(tl.float32) * (1.0 / 16777216) >= rate, 1.0 / (1.0 - rate), 0.0)


@triton.jit  # type: ignore[untyped-decorator]
def gelu_of(x: tl.tensor) -> tl.tensor:
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit  # type: ignore[untyped-decorator]
def gelu_slope(x: tl.tensor) -> tl.tensor:
    return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * tl.exp(-0.5 * x * x)


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _add_norm(
    residual: tl.tensor,
    branch: tl.tensor,
    gain: tl.tensor,
    bias: tl.tensor,
    exact: tl.tensor,
    rounded: tl.tensor,
    moments: tl.tensor,
    seed: tl.tensor,
    site: tl.tensor,
    rate: tl.tensor,
    eps: tl.tensor,
    rows: tl.tensor,
    width: tl.tensor,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    ROUNDED: tl.constexpr,
    DROPOUT: tl.constexpr,
) -> None:
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    used = column < width
    there = (row < rows)[:, None] & used[None, :]
    places = row[:, None] * width + column[None, :]
    added = tl.load(branch + places, mask=there, other=0.0).to(tl.float32)
    if DROPOUT:
        added *= dropout_factor(seed, site, rate, places)
    values = tl.load(residual + places, mask=there, other=0.0) + added
    mean = tl.sum(values, axis=1) / width
    centred = tl.where(there, values - mean[:, None], 0.0)
    steepness = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / width + eps)
    weight = tl.load(gain + column, mask=used, other=0.0)
    shift = tl.load(bias + column, mask=used, other=0.0)
    found = centred * steepness[:, None] * weight[None, :] + shift[None, :]
    tl.store(exact + places, found, mask=there)
    if ROUNDED:
        tl.store(rounded + places, found, mask=there)
    tl.store(moments + row, mean, mask=row < rows)
    tl.store(moments + rows + row, steepness, mask=row < rows)


@triton.jit(do_not_specialize=["site"])  # type: ignore[untyped-decorator]
def _add_norm_backward(
    grad_output: tl.tensor,
    skip: tl.tensor,
    residual: tl.tensor,
    branch: tl.tensor,
    gain: tl.tensor,
    moments: tl.tensor,
    grad_residual: tl.tensor,
    grad_branch: tl.tensor,
    parts: tl.tensor,
    at_gain: tl.tensor,
    at_bias: tl.tensor,
    vectors: tl.tensor,
    seed: tl.tensor,
    site: tl.tensor,
    rate: tl.tensor,
    rows: tl.tensor,
    width: tl.tensor,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    PARTS: tl.constexpr,
    SKIP: tl.constexpr,
    DROPOUT: tl.constexpr,
) -> None:
    part, column = tl.program_id(0), tl.arange(0, WIDTH)
    used = column < width
    weight = tl.load(gain + column, mask=used, other=0.0)
    of_gain = tl.zeros((ROWS, WIDTH), tl.float32)
    of_bias = tl.zeros((ROWS, WIDTH), tl.float32)
    for first in range(part * ROWS, rows, PARTS * ROWS):
        row = first + tl.arange(0, ROWS)
        there = (row < rows)[:, None] & used[None, :]
        places = row[:, None] * width + column[None, :]
        gradient = tl.load(grad_output + places, mask=there, other=0.0)
        if SKIP:
            gradient += tl.load(skip + places, mask=there, other=0.0).to(tl.float32)
        added = tl.load(branch + places, mask=there, other=0.0).to(tl.float32)
        if DROPOUT:
            scale = dropout_factor(seed, site, rate, places)
            added *= scale
        values = tl.load(residual + places, mask=there, other=0.0) + added
        mean = tl.load(moments + row, mask=row < rows, other=0.0)
        steepness = tl.load(moments + rows + row, mask=row < rows, other=0.0)
        normal = tl.where(there, (values - mean[:, None]) * steepness[:, None], 0.0)
        of_gain += gradient * normal
        of_bias += gradient
        weighted = gradient * weight[None, :]
        level = tl.sum(weighted, axis=1) / width
        slope = tl.sum(weighted * normal, axis=1) / width
        back = (weighted - level[:, None] - normal * slope[:, None]) * steepness[:, None]
        tl.store(grad_residual + places, back, mask=there)
        if DROPOUT:
            back *= scale
        tl.store(grad_branch + places, back, mask=there)
    parts += part * vectors + column
    tl.store(parts + at_gain, tl.sum(of_gain, axis=0), mask=used)
    tl.store(parts + at_bias, tl.sum(of_bias, axis=0), mask=used)


@triton.jit  # type: ignore[untyped-decorator]
def _gelu(values: tl.tensor, found: tl.tensor, count: tl.tensor, ELEMENTS: tl.constexpr) -> None:
    position = tl.program_id(0) * ELEMENTS + tl.arange(0, ELEMENTS)
    x = tl.load(values + position, mask=position < count, other=0.0).to(tl.float32)
    tl.store(found + position, gelu_of(x), mask=position < count)


@triton.jit  # type: ignore[untyped-decorator]
def _add_parts(
    parts: tl.tensor, total: tl.tensor, vectors: tl.tensor, COLUMNS: tl.constexpr, PARTS: tl.constexpr
) -> None:
    part, column = tl.arange(0, PARTS), tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    values = tl.load(parts + part[:, None] * vectors + column[None, :], mask=(column < vectors)[None, :], other=0.0)
    tl.store(total + column, tl.sum(values, axis=0), mask=column < vectors)
