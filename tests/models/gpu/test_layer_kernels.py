from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from .parts import ON, needs_kernels

pytestmark = needs_kernels
ROWS, WIDTH = 13, 20  # no multiples of a program's


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(ON)


def no_dropout() -> Any:
    return dropout(0.0)


def dropout(rate: float, seed: int = 3, site: int = 1) -> Any:
    from hybridal.models.gpu.layer_kernels import Dropout

    return Dropout(rate, torch.tensor([seed], dtype=torch.int32, device=ON), site)


# Fewer rows than programs; and more, which each program takes four at a time, the last not all.
@pytest.mark.parametrize(("rows", "with_skip"), [(ROWS, False), (ROWS, True), (1101, True)])
def test_add_norm_is_a_layer_norm_of_a_sum_forward_and_backward(rows: int, with_skip: bool) -> None:
    from hybridal.models.gpu import layer_kernels as kernels

    residual, branch = (drawn(rows, WIDTH).add(n).requires_grad_() for n in range(2))
    gain, bias = drawn(WIDTH).add(1).requires_grad_(), drawn(WIDTH).requires_grad_()
    expected = nn.functional.layer_norm(residual + branch, (WIDTH,), gain, bias, 1e-5)
    one, other_one, weight, shift = (tensor.detach() for tensor in (residual, branch, gain, bias))
    found, rounded, moments = kernels.add_norm(one, other_one, weight, shift, 1e-5, no_dropout(), torch.bfloat16)
    torch.testing.assert_close(found, expected.detach())
    torch.testing.assert_close(rounded, found.bfloat16())

    above, other = drawn(rows, WIDTH), drawn(rows, WIDTH) if with_skip else None
    (expected * (above + (0 if other is None else other))).sum().backward()
    parts = torch.full((kernels.PARTS, 2 * WIDTH), torch.nan, device=ON)  # all are written
    down, of_branch = kernels.add_norm_backward(
        above, other, one, other_one, weight, moments, no_dropout(), parts, (0, WIDTH)
    )  # fmt: skip
    total = torch.full((3 * WIDTH,), 7.0, device=ON)
    kernels.add_parts(parts, total)
    torch.testing.assert_close(down, residual.grad)
    torch.testing.assert_close(of_branch, branch.grad)
    assert total[2 * WIDTH :].eq(7.0).all()
    for piece, wanted in zip(total.split(WIDTH)[:2], (gain.grad, bias.grad), strict=True):
        torch.testing.assert_close(piece, wanted, rtol=1e-4, atol=1e-4)


def test_gelu_equals_torch() -> None:
    from hybridal.models.gpu import layer_kernels as kernels

    values = drawn(ROWS, WIDTH)
    torch.testing.assert_close(kernels.gelu(values), nn.functional.gelu(values))


def test_dropout_keeps_the_share_it_should_and_draws_the_same_again() -> None:
    from hybridal.models.gpu import layer_kernels as kernels

    residual, branch = torch.zeros(64, 128, device=ON), torch.ones(64, 128, device=ON)
    gain, bias = torch.ones(128, device=ON), torch.zeros(128, device=ON)

    def kept(which: Any) -> Tensor:
        # Normalised, what stayed is above zero and what was dropped below.
        return kernels.add_norm(residual, branch, gain, bias, 1e-5, which, torch.float32)[0] > 0

    first = kept(dropout(0.25))
    assert abs(float(first.float().mean()) - 0.75) < 0.02
    # Neither rows nor columns share their fate.
    assert float(first.float().mean(0).std()) < 0.1
    assert float(first.float().mean(1).std()) < 0.1
    assert kept(dropout(0.25)).equal(first)
    for other in (dropout(0.25, seed=4), dropout(0.25, site=2)):
        assert abs(float((kept(other) == first).float().mean()) - (0.75**2 + 0.25**2)) < 0.03
