"""The singular values of many weight matrices at once, in double precision, where the weights live."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybridal.errors import UserError

if TYPE_CHECKING:
    import torch

_log = logging.getLogger(__name__)

SMALLEST = 1e-8  # a singular value at or below this counts as zero
MIN_VALUES = 3  # a spectrum of fewer values has no shape
STACK_BYTES = 2**26
CUDA_STACK_BYTES = 2**29  # larger, because a GPU needs many matrices at once to be busy
KERNEL_SIDES = range(64, 1025)  # matrix sizes for which our kernels beat torch's on a GPU, if there are many matrices
# The Gram matrix halves the digits of small singular values. Down to this share of the largest eigenvalue the digits
# left exceed the precision of 32-bit weights; below it, use the slower direct decomposition.
MIN_EIGENVALUE_RATIO = 1e-12
# The first call compiles: one thread compiles while the others wait.
_COMPILING = Lock()


def spectra(matrices: Mapping[str, torch.Tensor], signal: str) -> list[NDArray[np.float64]]:
    """The nonzero singular values of each matrix, largest first; a matrix with fewer than three is left out.

    >>> import torch
    >>> [found.tolist() for found in spectra({"body": torch.diag(torch.tensor([1.0, 4.0, 2.0]))}, "alpha")]
    [[4.0, 2.0, 1.0]]
    """
    found = singular_values(matrices)
    kept = [values[values > SMALLEST] for values in found.values()]
    kept = [values for values in kept if values.size >= MIN_VALUES]
    if not kept:
        raise UserError(
            f"The signal '{signal}' needs a linear layer with {MIN_VALUES} singular values; watch another signal."
        )
    return kept


def singular_values(matrices: Mapping[str, torch.Tensor]) -> dict[str, NDArray[np.float64]]:
    """All singular values of each matrix by name, largest first; matrices of the same size are stacked."""
    by_size: dict[int, list[str]] = defaultdict(list)
    for name, matrix in matrices.items():
        by_size[min(matrix.shape)].append(name)
    found: dict[str, NDArray[np.float64]] = {}
    for size, names in by_size.items():
        limit = CUDA_STACK_BYTES if matrices[names[0]].is_cuda else STACK_BYTES
        stack = max(1, limit // (8 * size * size))
        for start in range(0, len(names), stack):
            some = names[start : start + stack]
            found.update(zip(some, _stacked([matrices[name] for name in some], some), strict=True))
    return {name: found[name] for name in matrices}


def _stacked(matrices: list[torch.Tensor], names: list[str]) -> list[NDArray[np.float64]]:
    import torch

    with torch.no_grad():
        grams = torch.stack([_gram(_float64(matrix)) for matrix in matrices])
        for name, finite in zip(names, grams.isfinite().flatten(1).all(1).tolist(), strict=True):
            if not finite:
                raise UserError(
                    f"The weights of '{name}' are not finite; training has diverged: lower the learning rate."
                )
        eigenvalues = _eigenvalues(grams).flip(-1)
        rows = eigenvalues.clamp(min=0).sqrt().cpu().numpy()
        precise = (eigenvalues[:, -1] > MIN_EIGENVALUE_RATIO * eigenvalues[:, 0]).tolist()
        return [
            np.array(row) if is_precise else np.array(torch.linalg.svdvals(_float64(matrix)).cpu().numpy())
            for row, is_precise, matrix in zip(rows, precise, matrices, strict=True)
        ]


def _eigenvalues(grams: torch.Tensor) -> torch.Tensor:
    import torch

    count, side = grams.shape[:2]
    # Our kernels take as long for one matrix as for many.
    if grams.is_cuda and side in KERNEL_SIDES and 64 * count >= side and _kernels_work(grams.device, side):
        from hybridal.signals._tridiagonal import eigenvalues

        return eigenvalues(grams)
    return torch.linalg.eigvalsh(grams)


def _kernels_work(device: torch.device, side: int) -> bool:
    with _COMPILING:
        return _try_kernels(device, side)


@cache
def _try_kernels(device: torch.device, side: int) -> bool:
    """Whether our kernels run here; they need Triton, a C compiler and enough memory, else torch's are used."""
    import torch

    try:
        from hybridal.signals._tridiagonal import eigenvalues
    except ModuleNotFoundError:
        return False  # a build of torch without Triton
    try:
        eigenvalues(torch.eye(side, dtype=torch.float64, device=device)[None])
    except Exception as error:  # Triton's compiler, the C compiler and the driver raise many kinds
        _log.warning("The kernels for spectra do not run on %s; using torch's slower ones: %s", device, error)
        return False
    return True


def _gram(matrix: torch.Tensor) -> torch.Tensor:
    return matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix


def _float64(matrix: torch.Tensor) -> torch.Tensor:
    """The matrix in double precision, on its device (on the CPU if that is Apple's, which has no float64)."""
    import torch

    matrix = matrix.detach()
    return (matrix.cpu() if matrix.device.type == "mps" else matrix).to(torch.float64)
