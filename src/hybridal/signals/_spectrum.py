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
FEWEST = 3  # a spectrum of fewer values has no shape
STACK_BYTES = 2**26
CUDA_STACK_BYTES = 2**29  # a GPU is only busy with many matrices side by side
OWN_SIDES = range(64, 1025)  # of matrices for which our own kernels beat torch's on a GPU, if there are many
# Squaring a matrix halves the digits of its small singular values. Down to this share of the largest eigenvalue more
# are left than weights of 32 bits have to say about them; below it the slower direct decomposition takes over.
TRUSTED = 1e-12
# The first call compiles: one thread does, and the others wait for it.
_COMPILING = Lock()


def spectra(matrices: Mapping[str, torch.Tensor], signal: str) -> list[NDArray[np.float64]]:
    """The singular values above zero of each matrix, largest first; a matrix with fewer than three is left out.

    >>> import torch
    >>> [found.tolist() for found in spectra({"body": torch.diag(torch.tensor([1.0, 4.0, 2.0]))}, "alpha")]
    [[4.0, 2.0, 1.0]]
    """
    found = singular_values(matrices)
    kept = [values[values > SMALLEST] for values in found.values()]
    kept = [values for values in kept if values.size >= FEWEST]
    if not kept:
        raise UserError(
            f"The signal '{signal}' needs a linear layer with {FEWEST} singular values; watch another signal."
        )
    return kept


def singular_values(matrices: Mapping[str, torch.Tensor]) -> dict[str, NDArray[np.float64]]:
    """All singular values of each matrix by its name, largest first; the matrices of one size go in stacks."""
    by_size: dict[int, list[str]] = defaultdict(list)
    for name, matrix in matrices.items():
        by_size[min(matrix.shape)].append(name)
    found: dict[str, NDArray[np.float64]] = {}
    for size, names in by_size.items():
        room = CUDA_STACK_BYTES if matrices[names[0]].is_cuda else STACK_BYTES
        stack = max(1, room // (8 * size * size))
        for start in range(0, len(names), stack):
            some = names[start : start + stack]
            found.update(zip(some, _stacked([matrices[name] for name in some], some), strict=True))
    return {name: found[name] for name in matrices}


def _stacked(matrices: list[torch.Tensor], names: list[str]) -> list[NDArray[np.float64]]:
    import torch

    with torch.no_grad():
        grams = torch.stack([_gram(_doubled(matrix)) for matrix in matrices])
        for name, finite in zip(names, grams.isfinite().flatten(1).all(1).tolist(), strict=True):
            if not finite:
                raise UserError(f"The weights of '{name}' are not finite; training has diverged: lower its rate.")
        eigenvalues = _eigenvalues(grams).flip(-1)
        rows = eigenvalues.clamp(min=0).sqrt().cpu().numpy()
        trusted = (eigenvalues[:, -1] > TRUSTED * eigenvalues[:, 0]).tolist()
        return [
            np.array(row) if fine else np.array(torch.linalg.svdvals(_doubled(matrix)).cpu().numpy())
            for row, fine, matrix in zip(rows, trusted, matrices, strict=True)
        ]


def _eigenvalues(grams: torch.Tensor) -> torch.Tensor:
    import torch

    count, side = grams.shape[:2]
    # Ours takes as long for one matrix as for many.
    if grams.is_cuda and side in OWN_SIDES and 64 * count >= side and _own_kernels_run(grams.device, side):
        from hybridal.signals._tridiagonal import eigenvalues

        return eigenvalues(grams)
    return torch.linalg.eigvalsh(grams)


def _own_kernels_run(device: torch.device, side: int) -> bool:
    with _COMPILING:
        return _tried(device, side)


@cache
def _tried(device: torch.device, side: int) -> bool:
    """Try our kernels once; without Triton, its C compiler or enough memory, torch's slower ones take over."""
    import torch

    try:
        from hybridal.signals._tridiagonal import eigenvalues
    except ModuleNotFoundError:
        return False  # a build of torch without Triton
    try:
        eigenvalues(torch.eye(side, dtype=torch.float64, device=device)[None])
    except Exception as error:  # Triton's compiler, the C compiler and the driver raise many kinds
        _log.warning("Own kernels for spectra do not run on %s, torch's slower ones do: %s", device, error)
        return False
    return True


def _gram(matrix: torch.Tensor) -> torch.Tensor:
    return matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix


def _doubled(matrix: torch.Tensor) -> torch.Tensor:
    """In double precision, on its own device unless that has none (Apple's)."""
    import torch

    matrix = matrix.detach()
    return (matrix.cpu() if matrix.device.type == "mps" else matrix).to(torch.float64)
