from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

Floats = NDArray[np.float64]

pytestmark = pytest.mark.gpu


def found(*matrices: Floats) -> Floats:
    pytest.importorskip("triton")
    from hybridal.signals._tridiagonal import eigenvalues

    given = torch.tensor(np.stack(matrices), device="cuda")
    values: Any = eigenvalues(given).cpu().numpy()
    np.testing.assert_array_equal(given.cpu().numpy(), np.stack(matrices))
    return np.asarray(values)


def assert_right(values: Floats, matrix: Floats) -> None:
    expected = np.linalg.eigvalsh(matrix)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def random(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, n))


def with_values(values: Floats) -> Floats:
    turn = np.linalg.qr(random(values.size))[0]
    matrix = (turn * values) @ turn.T
    return np.asarray((matrix + matrix.T) / 2)


def blocks(n: int) -> Floats:
    whole = np.zeros((n, n))
    half = n // 2
    whole[:half, :half] = with_values(random(half)[0])
    whole[half:, half:] = with_values(random(n - half)[0])
    return whole


def graded(n: int) -> Floats:
    scale = np.logspace(-6, 3, n)
    return scale[:, None] * (random(n) + random(n).T) * scale


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17, 64, 65, 100, 128, 200, 255, 256, 384, 500, 513, 768, 1000, 1024])
def test_eigenvalues_equal_numpy_for_any_size(n: int) -> None:
    grams = [matrix @ matrix.T for matrix in (random(n, 1), random(n, 2), random(n, 3))]
    for gram, values in zip(grams, found(*grams), strict=True):
        assert_right(values, gram)


HARD: dict[str, Callable[[int], Floats]] = {
    "zero": lambda n: np.zeros((n, n)),
    "ones": lambda n: np.ones((n, n)),
    "diagonal": lambda n: np.diag(random(n)[0]),
    "tridiagonal": lambda n: 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1),
    "indefinite": lambda n: random(n) + random(n).T,
    "low rank": lambda n: random(n)[:, : n // 3] @ random(n)[:, : n // 3].T,
    "clustered": lambda n: with_values(1 + 1e-9 * random(n)[0] * (np.arange(n) % 2)),
    "blocks": blocks,
    "many scales": lambda n: with_values(np.logspace(-12, 6, n)),
    "graded": graded,
    "graded the other way": lambda n: graded(n)[::-1, ::-1],
    "tiny": lambda n: 1e-170 * (random(n) + random(n).T),
    "huge": lambda n: 1e170 * (random(n) + random(n).T),
}


@pytest.mark.parametrize("n", [64, 100, 384, 768])
def test_eigenvalues_of_ill_conditioned_matrices_in_one_batch(n: int) -> None:
    matrices = [make(n) for make in HARD.values()]
    for matrix, values in zip(matrices, found(*matrices), strict=True):
        assert_right(values, matrix)


def test_each_run_gives_the_same_digits() -> None:
    grams = [random(384, seed) @ random(384, seed).T for seed in range(40)]
    first = found(*grams)
    for _ in range(5):
        np.testing.assert_array_equal(found(*grams), first)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_eigenvalues_do_not_depend_on_prefetching(stages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    from hybridal.signals import _tridiagonal

    monkeypatch.setattr(_tridiagonal, "MAX_STAGES", stages)
    matrix = random(200)
    gram = matrix @ matrix.T
    assert_right(found(gram)[0], gram)


@pytest.mark.parametrize(("shared", "stages"), [(232_448, 4), (166_912, 3), (101_376, 2), (65_536, 1)])
def test_a_gpu_with_less_shared_memory_fetches_less_ahead(
    shared: int, stages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    from hybridal.signals import _tridiagonal

    told = SimpleNamespace(shared_memory_per_block_optin=shared)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: told)
    assert _tridiagonal._stages(torch.device("cuda"), 1024) == stages
