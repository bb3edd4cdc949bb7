"""The eigenvalues of many symmetric matrices at once on a CUDA device, in double precision.

Torch uses cuSOLVER, which launches thousands of small kernels per matrix. Here one kernel computes a panel of
Householder reflections, one program per matrix, and one batched product applies them to all matrices. Once these are
tridiagonal, a second kernel finds each eigenvalue by bisection.
Imported only if Triton is installed, which comes with torch's CUDA builds.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

# Each warp owns a block of columns for all rows, so sums over rows need no other warp. ROWS rows are loaded at a time,
# prefetched in up to MAX_STAGES pipeline stages.
WARPS, WARP_COLUMNS, ROWS, MAX_STAGES = 8, 64, 8, 4
PANEL, HELD = 16, 4  # reflections per update of the matrix, and how many of them are loaded at a time
SPARE_SHARED = 4096  # bytes of shared memory for sums over all columns
LANES = 128
ALIGNED = tl.constexpr(16)  # pad sides to a multiple of this, for coalesced loads
# With elements of at most 1, all eigenvalues lie within ±n; this many halvings leave less than 1e-16 of the largest.
HALVINGS = 66
TINY = tl.constexpr(1e-280)  # for elements of at most 1: far below rounding, far above underflow


def eigenvalues(stack: torch.Tensor) -> torch.Tensor:
    """The eigenvalues of each symmetric matrix in a (count, n, n) stack, smallest first.

    Their absolute error is the rounding error of the largest eigenvalue.
    """
    count, n = stack.shape[:2]
    side = triton.cdiv(n, ALIGNED.value) * ALIGNED.value
    width = triton.next_power_of_2(max(n, WARP_COLUMNS))
    scale = torch.linalg.vector_norm(stack, torch.inf, (1, 2)).clamp(min=torch.finfo(stack.dtype).tiny)
    matrices = stack.new_zeros(count, side, side)
    torch.div(stack, scale[:, None, None], out=matrices[:, :n, :n])
    diagonal, coupling = stack.new_zeros(2, count, side)
    panel = stack.new_empty(count, 3 * PANEL, width)
    found = stack.new_empty(count, n)
    warps, stages = min(WARPS, width // WARP_COLUMNS), _stages(stack.device, width)
    with torch.cuda.device_of(stack):
        for size in range(n, 1, -PANEL):
            panel.zero_()
            _reflect[(count,)](
                matrices, diagonal, coupling, panel, size, side, width, PANEL, HELD, ROWS, stages, num_warps=warps
            )
            left = max(size - PANEL, 1)
            left_and_right = panel[:, : 2 * PANEL, :left].mT, panel[:, PANEL:, :left]
            matrices[:, :left, :left].baddbmm_(*left_and_right, alpha=-1)
        diagonal[:, 0] = matrices[:, 0, 0]
        _bisect[(count, triton.cdiv(n, LANES))](diagonal, coupling, found, n, side, HALVINGS, LANES)
    return found * scale[:, None]


def _stages(device: torch.device, width: int) -> int:
    """How many stages of rows to prefetch; they occupy shared memory, whose size depends on the GPU."""
    shared = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    return int(min(MAX_STAGES, 1 + (shared - SPARE_SHARED) // (8 * ROWS * width)))


@triton.jit  # type: ignore[untyped-decorator]
def _reflect(
    matrices: tl.tensor,
    diagonal: tl.tensor,
    coupling: tl.tensor,
    panel: tl.tensor,
    size: tl.tensor,
    side: tl.tensor,
    WIDTH: tl.constexpr,
    PANEL: tl.constexpr,
    HELD: tl.constexpr,
    ROWS: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Compute a panel of Householder reflections of the program's matrix, last row first, so rows start at column 0.

    The reflection H = I - u uᵀ, |u|² = 2 (or u = 0), turns A into A - u wᵀ - w uᵀ, with w = p - ½(u·p) u and p = A u.
    The matrix itself is not updated within a panel: the effect of the panel's earlier reflections is added to the row
    that is needed next, and to p. The panel holds all u, all w, and all u again; rows not computed yet are zero.
    Because A is symmetric, p is a sum over rows: each thread owns its columns and is independent until the sum is done.
    Tiles may extend beyond the remaining part, because u is zero there.
    """
    program = tl.program_id(0).to(tl.int64)
    matrices += program * side * side
    diagonal += program * side
    coupling += program * side
    us = panel + program * 3 * PANEL * WIDTH
    ws = us + PANEL * WIDTH
    columns = tl.arange(0, WIDTH)
    rows = tl.arange(0, ROWS)
    held = tl.arange(0, HELD)
    for step in range(tl.minimum(PANEL, size - 1)):
        last = size - 1 - step
        used = columns < tl.cdiv(last + 1, ALIGNED) * ALIGNED

        row = tl.load(matrices + last * side + columns, mask=used, other=0.0)
        for first in range(0, step, HELD):
            at = (first + held) * WIDTH
            places = at[:, None] + columns[None, :]
            u_held = tl.load(us + places, mask=used[None, :], other=0.0)
            w_held = tl.load(ws + places, mask=used[None, :], other=0.0)
            u_last, w_last = tl.load(us + at + last), tl.load(ws + at + last)
            row -= tl.sum(u_last[:, None] * w_held + w_last[:, None] * u_held, axis=0)
        tl.store(diagonal + columns, row, mask=columns == last)
        head = tl.sum(tl.where(columns == last - 1, row, 0.0))
        tail = tl.sum(tl.where(columns < last - 1, row * row, 0.0))
        norm = tl.sqrt(head * head + tail)
        turned = tl.where(head > 0, -norm, norm)
        done = tail < TINY
        tl.store(coupling + last, tl.where(done, head, turned))
        scale = tl.where(done, 0.0, 1.0 / tl.sqrt(turned * (turned - head)))
        u = tl.where(columns < last, tl.where(columns == last - 1, row - turned, row) * scale, 0.0)

        tl.store(us + step * WIDTH + columns, u)
        tl.debug_barrier()  # u is read by other threads

        p = tl.zeros((WIDTH,), tl.float64)
        for top in tl.range(0, last, ROWS, num_stages=STAGES):
            at = top + rows
            tile = tl.load(matrices + at[:, None] * side + columns[None, :], mask=used[None, :], other=0.0)
            p += tl.sum(tile * tl.load(us + step * WIDTH + at)[:, None], axis=0)
        for first in range(0, step, HELD):
            places = (first + held)[:, None] * WIDTH + columns[None, :]
            u_held = tl.load(us + places, mask=used[None, :], other=0.0)
            w_held = tl.load(ws + places, mask=used[None, :], other=0.0)
            u_share, w_share = tl.sum(u_held * u[None, :], axis=1), tl.sum(w_held * u[None, :], axis=1)
            p -= tl.sum(w_share[:, None] * u_held + u_share[:, None] * w_held, axis=0)
        p = tl.where(columns < last, p, 0.0)
        w = p - 0.5 * tl.sum(u * p) * u

        tl.store(ws + step * WIDTH + columns, w)
        tl.store(ws + (PANEL + step) * WIDTH + columns, u)
        tl.debug_barrier()  # w is read by other threads


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
    """Find the i-th eigenvalue in each lane: T - xI has as many negative pivots as T has eigenvalues below x."""
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
            off_diagonal = tl.load(coupling + i)
            pivot = tl.load(diagonal + i) - middle - off_diagonal * off_diagonal / pivot
            pivot = tl.where(tl.abs(pivot) < TINY, -TINY, pivot)
            below += (pivot < 0).to(tl.int32)
        low = tl.where(below > wanted, low, middle)
        high = tl.where(below > wanted, middle, high)
    tl.store(found + program * n + wanted, 0.5 * (low + high), mask=wanted < n)
