"""The singular values of many weight matrices at once, in double precision, where the weights live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybridal.errors import UserError

if TYPE_CHECKING:
    import torch

SMALLEST = 1e-8  # a singular value at or below this counts as zero
FEWEST = 3  # a spectrum of fewer values has no shape
STACK_BYTES = 2**26
# Squaring a matrix halves the digits of its small singular values; below this share of the largest
# eigenvalue too few are left, and the slower direct decomposition takes over.
TRUSTED = 1e-9


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
        stack = max(1, STACK_BYTES // (8 * size * size))
        for start in range(0, len(names), stack):
            some = names[start : start + stack]
            found.update(zip(some, _stacked([matrices[name] for name in some], some), strict=True))
    return {name: found[name] for name in matrices}


def _stacked(matrices: list[torch.Tensor], names: list[str]) -> list[NDArray[np.float64]]:
    import torch

    with torch.no_grad():
        grams = torch.stack([_gram(_doubled(matrix)) for matrix in matrices])
        for name, gram in zip(names, grams, strict=True):
            if not bool(gram.isfinite().all()):
                raise UserError(f"The weights of '{name}' are not finite; training has diverged: lower its rate.")
        eigenvalues = torch.linalg.eigvalsh(grams).flip(-1)
        rows = eigenvalues.clamp(min=0).sqrt().cpu().numpy()
        trusted = (eigenvalues[:, -1] > TRUSTED * eigenvalues[:, 0]).tolist()
        return [
            np.array(row) if fine else np.array(torch.linalg.svdvals(_doubled(matrix)).cpu().numpy())
            for row, fine, matrix in zip(rows, trusted, matrices, strict=True)
        ]


def _gram(matrix: torch.Tensor) -> torch.Tensor:
    return matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix


def _doubled(matrix: torch.Tensor) -> torch.Tensor:
    """In double precision, on its own device unless that has none (Apple's)."""
    import torch

    matrix = matrix.detach()
    return (matrix.cpu() if matrix.device.type == "mps" else matrix).to(torch.float64)
