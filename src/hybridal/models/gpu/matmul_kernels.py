"""Matrix products of training as Triton kernels, fused with what follows them.

cuBLAS assumes a GPU for itself: a product of a small encoder takes all shared memory and little arithmetic, and other
lanes wait. These kernels leave room for each other: eight lanes take half the time, one alone somewhat more. The order
of summation depends on the shapes only.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hybridal.models.gpu.layer_kernels import gelu_of, gelu_slope

# Rows and columns of a tile, the warps that work on it, and how many steps of it are on their way at once.
SMALL, LARGE = (64, 4, 4), (128, 8, 3)
# With more small tiles than this the GPU is full, and large tiles read less.
FULL_GPU_TILES = 264
# Bytes of a row that a tile reads per step.
DEEP = 128
# What follows a product: nothing, GELU into a second output, or multiplication with GELU's derivative.
PLAIN, GELU, SLOPE = range(3)


def forward(values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The output of a linear layer."""
    found = values.new_empty((len(values), len(weight)))
    return _multiply(values, weight.t(), found, bias=bias)


def forward_gelu(values: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """The output of a linear layer, and GELU of it."""
    found = values.new_empty((len(values), len(weight)))
    active = torch.empty_like(found)
    return _multiply(values, weight.t(), found, bias=bias, second=active, after=GELU), active


def input_gradient(gradient: Tensor, weight: Tensor) -> Tensor:
    """The gradient of a linear layer's input."""
    found = gradient.new_empty((len(gradient), weight.shape[1]))
    return _multiply(gradient, weight, found)


def input_gradient_gelu(gradient: Tensor, weight: Tensor, values: Tensor) -> Tensor:
    """The gradient of `values`, whose GELU was a linear layer's input."""
    return _multiply(gradient, weight, torch.empty_like(values), second=values, after=SLOPE)


def weight_gradients(gradient: Tensor, values: Tensor, weight: Tensor, bias: Tensor) -> None:
    """The gradients of a linear layer's weight and bias, into these."""
    _multiply(gradient.t(), values, weight, sums=bias)


def _multiply(
    left: Tensor,
    right: Tensor,
    found: Tensor,
    bias: Tensor | None = None,
    second: Tensor | None = None,
    after: int = PLAIN,
    sums: Tensor | None = None,
) -> Tensor:
    (rows, depth), columns = left.shape, right.shape[1]
    few = triton.cdiv(rows, SMALL[0]) * triton.cdiv(columns, SMALL[0]) < FULL_GPU_TILES
    side, warps, stages = SMALL if few else LARGE
    deep = DEEP // left.element_size()
    _product[triton.cdiv(rows, side), triton.cdiv(columns, side) + (sums is not None)](
        left, right, found, *(found if one is None else one for one in (bias, second, sums)), rows, columns, depth,
        *left.stride(), *right.stride(), side, deep, depth % deep == 0, bias is not None, after, sums is not None,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _tile(places: tl.tensor, there: tl.tensor, inner: tl.tensor, depth: tl.tensor, EVEN: tl.constexpr) -> tl.tensor:
    return tl.load(places, mask=there if EVEN else there & (inner < depth), other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _product(
    left: tl.tensor, right: tl.tensor, found: tl.tensor, bias: tl.tensor, second: tl.tensor, sums: tl.tensor,
    rows: tl.tensor, columns: tl.tensor, depth: tl.tensor,
    left_row: tl.tensor, left_depth: tl.tensor, right_depth: tl.tensor, right_column: tl.tensor,
    SIDE: tl.constexpr, DEEP: tl.constexpr, EVEN: tl.constexpr, BIAS: tl.constexpr, AFTER: tl.constexpr,
    SUMS: tl.constexpr,
) -> None:  # fmt: skip
    """A program for each tile; with `SUMS`, a last column of programs adds up the rows of `left`."""
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    inner = tl.arange(0, DEEP)
    left += row[:, None] * left_row + inner[None, :] * left_depth
    in_rows, in_columns = (row < rows)[:, None], (column < columns)[None, :]
    if SUMS:  # noqa: SIM102 - known when this is compiled, the next one when it runs
        if tl.program_id(1) * SIDE >= columns:
            parts = tl.zeros((SIDE, DEEP), tl.float32)
            for at in range(0, depth, DEEP):
                parts += _tile(left, in_rows, (at + inner)[None, :], depth, EVEN).to(tl.float32)
                left += DEEP * left_depth
            tl.store(sums + row, tl.sum(parts, axis=1), mask=row < rows)
            return
    right += inner[:, None] * right_depth + column[None, :] * right_column
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for at in range(0, depth, DEEP):
        a = _tile(left, in_rows, (at + inner)[None, :], depth, EVEN)
        b = _tile(right, in_columns, (at + inner)[:, None], depth, EVEN)
        total = tl.dot(a, b, total, input_precision="ieee")
        left += DEEP * left_depth
        right += DEEP * right_depth
    there = in_rows & in_columns
    places = row[:, None] * columns + column[None, :]
    if BIAS:
        total += tl.load(bias + column, mask=column < columns, other=0.0).to(tl.float32)[None, :]
    if AFTER == 2:  # SLOPE
        total *= gelu_slope(tl.load(second + places, mask=there, other=0.0).to(tl.float32))
    rounded = total.to(found.dtype.element_ty)
    tl.store(found + places, rounded, mask=there)
    if AFTER == 1:  # GELU
        tl.store(second + places, gelu_of(rounded.to(tl.float32)), mask=there)
