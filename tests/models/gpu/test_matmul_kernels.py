from __future__ import annotations

import pytest
import torch
from torch import nn

from .parts import ON, needs_kernels
from .test_layer_kernels import drawn

pytestmark = needs_kernels

# Less than a tile; some tiles that are not full, to a depth that is not a multiple; and enough for large tiles.
SIZES = [(5, 7, 3), (70, 100, 70), (64, 128, 64)]
LARGE = (1050, 64, 1090)


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "depth", "columns"), [*SIZES, LARGE])
def test_linear_layer_equals_torch(rows: int, depth: int, columns: int) -> None:
    from hybridal.models.gpu import matmul_kernels as products

    values, weight, bias = drawn(rows, depth), drawn(columns, depth), drawn(columns)
    close(products.forward(values, weight, bias), nn.functional.linear(values, weight, bias))


@pytest.mark.parametrize(("rows", "depth", "columns"), SIZES)
def test_forward_gelu_returns_product_and_activation(rows: int, depth: int, columns: int) -> None:
    from hybridal.models.gpu import matmul_kernels as products

    values, weight, bias = drawn(rows, depth), drawn(columns, depth), drawn(columns)
    linear, active = products.forward_gelu(values, weight, bias)
    close(linear, nn.functional.linear(values, weight, bias))
    close(active, nn.functional.gelu(linear))


@pytest.mark.parametrize(("rows", "depth", "columns"), SIZES)
def test_gradients_equal_torch(rows: int, depth: int, columns: int) -> None:
    from hybridal.models.gpu import matmul_kernels as products

    values, weight, bias = (one.requires_grad_() for one in (drawn(rows, depth), drawn(columns, depth), drawn(columns)))
    above = drawn(rows, columns)
    nn.functional.linear(nn.functional.gelu(values), weight, bias).backward(above)
    active = nn.functional.gelu(values.detach())
    close(products.input_gradient_gelu(above, weight.detach(), values.detach()), values.grad)
    close(products.input_gradient(above, weight.detach()), above @ weight.detach())
    of_weight, of_bias = torch.empty_like(weight), torch.full((columns + 2,), 7.0, device=ON)
    products.weight_gradients(above, active, of_weight, of_bias[:columns])
    close(of_weight, weight.grad)
    close(of_bias[:columns], bias.grad)
    assert of_bias[columns:].eq(7.0).all()


def test_large_tiles_add_up_the_same() -> None:
    from hybridal.models.gpu import matmul_kernels as products

    above, values = drawn(64, LARGE[0]), drawn(64, LARGE[2])
    of_weight, of_bias = torch.empty(LARGE[0], LARGE[2], device=ON), torch.empty(LARGE[0], device=ON)
    products.weight_gradients(above, values, of_weight, of_bias)
    close(of_weight, above.t() @ values)
    close(of_bias, above.sum(0))


@pytest.mark.gpu
def test_half_precision_rounds_once_at_the_end() -> None:
    from hybridal.models.gpu import matmul_kernels as products

    values, weight, bias = (one.bfloat16() for one in (drawn(512, 384), drawn(1536, 384), drawn(1536)))
    linear, active = products.forward_gelu(values, weight, bias)
    exact = nn.functional.linear(values.double(), weight.double(), bias.double())
    torch.testing.assert_close(linear.double(), exact, rtol=2**-8, atol=1e-3)
    torch.testing.assert_close(active.double(), nn.functional.gelu(linear.double()), rtol=2**-8, atol=1e-3)
    above = drawn(512, 1536).bfloat16()
    of_weight, of_bias = torch.empty_like(weight), torch.empty(1536, device=ON)
    products.weight_gradients(above, values, of_weight, of_bias)
    torch.testing.assert_close(of_weight.double(), above.double().t() @ values.double(), rtol=2**-8, atol=1e-2)
    torch.testing.assert_close(of_bias.double(), above.double().sum(0), rtol=1e-5, atol=1e-4)
