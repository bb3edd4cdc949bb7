from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from hybridal.errors import UserError
from hybridal.signals import _spectrum
from hybridal.signals._spectrum import singular_values, spectra


def some(*shapes: tuple[int, int]) -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(1)
    return {str(i): torch.tensor(rng.normal(size=shape).astype(np.float32)) for i, shape in enumerate(shapes)}


@pytest.mark.parametrize("stack", [1, 2**26])
def test_singular_values_equal_numpys_svd(stack: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spectrum, "STACK_BYTES", stack)
    matrices = some((20, 20), (7, 20), (20, 20), (20, 7), (60, 20), (3, 2))
    found = singular_values(matrices)
    assert list(found) == list(matrices)
    for name, matrix in matrices.items():
        expected = np.linalg.svd(matrix.numpy().astype(np.float64), compute_uv=False)
        np.testing.assert_allclose(found[name], expected, rtol=1e-9)


def test_a_matrix_of_low_rank_keeps_its_zeros() -> None:
    # Of its square alone, rounding would leave values near 1e-7 that are not there.
    left, right = (matrix.double() for matrix in some((40, 5), (5, 40)).values())
    (values,) = spectra({"low": 100 * left @ right}, "alpha")
    assert values.size == 5


def test_nearly_singular_values_are_accurate() -> None:
    turn = torch.linalg.qr(torch.tensor(np.random.default_rng(2).normal(size=(6, 6))))[0]
    exact = np.array([1.0, 0.5, 1e-3, 1e-5, 1e-6, 1e-7])
    found = singular_values({"m": turn @ torch.diag(torch.tensor(exact)) @ turn.T})["m"]
    np.testing.assert_allclose(found, exact, rtol=1e-7)


def test_too_small_matrices_are_left_out() -> None:
    assert len(spectra(some((2, 30), (30, 3)), "alpha")) == 1
    with pytest.raises(UserError, match="'alpha' needs a linear layer"):
        spectra(some((2, 30)), "alpha")


def test_non_finite_weights_are_named() -> None:
    with pytest.raises(UserError, match="weights of 'bad' are not finite"):
        singular_values({"good": torch.eye(3), "bad": torch.full((3, 3), torch.nan)})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_read_exactly(dtype: torch.dtype) -> None:
    matrix = some((9, 12))["0"].to(dtype)
    expected = np.linalg.svd(matrix.double().numpy(), compute_uv=False)
    np.testing.assert_allclose(singular_values({"m": matrix})["m"], expected, rtol=1e-9)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_singular_values_are_equal_on_a_gpu() -> None:
    matrices = some((20, 20), (7, 20), (20, 7), (70, 100), (100, 70), (200, 400))  # torch's way and ours
    on_gpu = singular_values({name: matrix.cuda() for name, matrix in matrices.items()})
    for name, values in singular_values(matrices).items():
        np.testing.assert_allclose(on_gpu[name], values, rtol=1e-9)


def test_failing_kernels_are_logged_and_replaced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(matrices: object) -> None:
        raise RuntimeError("no C compiler")

    monkeypatch.setitem(sys.modules, "hybridal.signals._tridiagonal", SimpleNamespace(eigenvalues=fails))
    assert not _spectrum._try_kernels.__wrapped__(torch.device("cpu"), 64)
    assert "using torch's slower ones: no C compiler" in caplog.text
    caplog.clear()
    monkeypatch.setitem(sys.modules, "hybridal.signals._tridiagonal", None)  # as without Triton
    assert not _spectrum._try_kernels.__wrapped__(torch.device("cpu"), 64)
    assert not caplog.records
