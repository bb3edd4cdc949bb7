"""The eigenvalues of many symmetric matrices at once on a CUDA device, in double precision.

Torch asks cuSOLVER, which launches thousands of small kernels a matrix. Here one program of one kernel reduces one
matrix to a tridiagonal one, all matrices side by side; a second kernel finds each eigenvalue by bisection.
Only imported where Triton is installed, which comes with torch's builds for CUDA.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

# A warp keeps to its columns for all rows: sums over rows need no other warp. Rows are fetched by eight, three ahead.
WARPS, WARP_COLUMNS, ROWS, STAGES = 8, 64, 8, 3
LANES = 128
ALIGNED = tl.constexpr(16)  # sides are padded to a multiple of this, so that neighbours are fetched together
# With no element above one, all eigenvalues lie within ±n: halved this often, less than 1e-16 of the largest is left.
HALVINGS = 66
TINY = tl.constexpr(1e-280)  # of a matrix with no element above one; far below rounding, far above underflow


def eigenvalues(stack: torch.Tensor) -> torch.Tensor:
    """Those of each of these symmetric matrices (count, n, n), smallest first, up to rounding of the largest."""
    count, n = stack.shape[:2]
    side = triton.cdiv(n, ALIGNED.value) * ALIGNED.value
    width = triton.next_power_of_2(max(n, WARP_COLUMNS))
    scale = torch.linalg.vector_norm(stack, torch.inf, (1, 2)).clamp(min=torch.finfo(stack.dtype).tiny)
    matrices = stack.new_zeros(count, side, side)
    torch.div(stack, scale[:, None, None], out=matrices[:, :n, :n])
    diagonal, coupling = stack.new_zeros(2, count, side)
    vectors = stack.new_zeros(count, 3, width)
    found = stack.new_empty(count, n)
    warps = min(WARPS, width // WARP_COLUMNS)
    with torch.cuda.device_of(stack):
        _reduce[(count,)](matrices, diagonal, coupling, vectors, n, side, width, ROWS, STAGES, num_warps=warps)
        _bisect[(count, triton.cdiv(n, LANES))](diagonal, coupling, found, n, side, HALVINGS, LANES)
    return found * scale[:, None]


@triton.jit  # type: ignore[untyped-decorator]
def _reduce(
    matrices: tl.tensor,
    diagonal: tl.tensor,
    coupling: tl.tensor,
    vectors: tl.tensor,
    n: tl.tensor,
    side: tl.tensor,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Householder's reduction of the program's own matrix, last row first: all rows used start at column 0.

    The reflection H = I - u uᵀ, |u|² = 2 (or u = 0), turns A into A - u wᵀ - w uᵀ, with w = p - ½(u·p) u and p = A u.
    That update waits until the next reflection is known, so that one pass over A makes it and yields the next p.
    As A is symmetric, p is summed over rows: a thread keeps to its columns and needs no other before the sum is done.
    Tiles may reach beyond the part still to do: there u is zero, and what is written is never used.
    """
    program = tl.program_id(0).to(tl.int64)
    matrices += program * side * side
    diagonal += program * side
    coupling += program * side
    # Threads hold w and both reflections by columns; as rows they read them from here.
    w_shared = vectors + program * 3 * WIDTH
    columns = tl.arange(0, WIDTH)
    rows = tl.arange(0, ROWS)
    before = tl.zeros((WIDTH,), tl.float64)
    w = tl.zeros((WIDTH,), tl.float64)
    for step in range(n - 1):
        last = n - 1 - step
        before_shared = w_shared + (1 + step % 2) * WIDTH
        u_shared = w_shared + (2 - step % 2) * WIDTH

        row = tl.load(matrices + last * side + columns, mask=columns < side, other=0.0)
        row -= tl.load(before_shared + last) * w + tl.load(w_shared + last) * before
        tl.store(diagonal + columns, row, mask=columns == last)
        head = tl.sum(tl.where(columns == last - 1, row, 0.0))
        tail = tl.sum(tl.where(columns < last - 1, row * row, 0.0))
        norm = tl.sqrt(head * head + tail)
        turned = tl.where(head > 0, -norm, norm)
        done = tail < TINY
        tl.store(coupling + last, tl.where(done, head, turned))
        size = tl.where(done, 0.0, 1.0 / tl.sqrt(turned * (turned - head)))
        u = tl.where(columns < last, tl.where(columns == last - 1, row - turned, row) * size, 0.0)
        tl.store(u_shared + columns, u)
        tl.debug_barrier()  # u is read by other threads, and this row was, before the pass writes to it

        p = tl.zeros((WIDTH,), tl.float64)
        used = columns < tl.cdiv(last, ALIGNED) * ALIGNED
        for top in tl.range(0, last, ROWS, num_stages=STAGES):
            at = top + rows
            places = matrices + at[:, None] * side + columns[None, :]
            tile = tl.load(places, mask=used[None, :], other=0.0)
            before_rows, w_rows, u_rows = tl.load(before_shared + at), tl.load(w_shared + at), tl.load(u_shared + at)
            tile -= before_rows[:, None] * w[None, :] + w_rows[:, None] * before[None, :]
            tl.store(places, tile, mask=used[None, :])
            p += tl.sum(tile * u_rows[:, None], axis=0)
        p = tl.where(columns < last, p, 0.0)
        tl.debug_barrier()  # all have read the old w
        w = p - 0.5 * tl.sum(u * p) * u
        before = u
        tl.store(w_shared + columns, w)
        tl.debug_barrier()  # the new w and the matrix are read by other threads
    tl.store(diagonal, tl.load(matrices))


@triton.jit  # type: ignore[untyped-decorator]
def _bisect(
    diagonal: tl.tensor,
    coupling: tl.tensor,
    found: tl.tensor,
    n: tl.tensor,
    side: tl.tensor,
    halvings: tl.tensor,
    LANES: tl.constexpr,
) -> None:
    """The i-th eigenvalue in each lane: below x lie as many as x leaves negative pivots in the tridiagonal matrix."""
    program = tl.program_id(0).to(tl.int64)
    diagonal += program * side
    coupling += program * side
    wanted = tl.program_id(1) * LANES + tl.arange(0, LANES)
    low = tl.zeros((LANES,), tl.float64) - n
    high = tl.zeros((LANES,), tl.float64) + n
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        pivot = tl.full((LANES,), 1.0, tl.float64)
        below = tl.zeros((LANES,), tl.int32)
        for i in range(n):
            beside = tl.load(coupling + i)
            pivot = tl.load(diagonal + i) - middle - beside * beside / pivot
            pivot = tl.where(tl.abs(pivot) < TINY, -TINY, pivot)
            below += (pivot < 0).to(tl.int32)
        low = tl.where(below > wanted, low, middle)
        high = tl.where(below > wanted, middle, high)
    tl.store(found + program * n + wanted, 0.5 * (low + high), mask=wanted < n)
