"""A linear layer for processors that multiply bfloat16: operands are rounded, sums and weights stay in float32.

Autocast would round each weight again in each pass. Here one rounded copy serves until the weight changes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from hybridal.models.encoders.layers import Linear


class RoundedLinear(Linear):
    """A linear layer whose three products (forward, and both of the backward pass) have operands in bfloat16.

    Inputs and outputs, weight and bias, and their gradients are float32, so that nothing around it changes.

    >>> layer = RoundedLinear(2, 1)
    >>> _ = layer.load_state_dict({"weight": torch.tensor([[1.001, 2.0]]), "bias": torch.tensor([0.001])})
    >>> layer(torch.ones(1, 2)).dtype, round(layer(torch.ones(1, 2)).item(), 4)
    (torch.float32, 3.001)
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self._copy = _RoundedCopy()

    def forward(self, states: Tensor) -> Tensor:
        rounded = self._copy.of(self.weight)
        if not torch.is_grad_enabled():
            return _product(states.bfloat16(), rounded, self.bias)
        found: Tensor = _RoundedProduct.apply(states, self.weight, self.bias, rounded)
        return found


class _RoundedCopy:
    """A weight in bfloat16, rounded again when the weight has changed. A copied layer has its own, still empty one."""

    def __init__(self) -> None:
        self._version = -1
        self._rounded = torch.empty(0)

    def of(self, weight: Tensor) -> Tensor:
        if self._version != weight._version:
            with torch.inference_mode(False):  # autograd refuses tensors that were made in that mode
                self._rounded, self._version = weight.detach().bfloat16(), weight._version
        return self._rounded

    def __deepcopy__(self, memo: Any) -> _RoundedCopy:
        return _RoundedCopy()


class _RoundedProduct(Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, states: Tensor, _weight: Tensor, bias: Tensor, rounded: Tensor) -> Tensor:
        inputs = states.bfloat16()
        ctx.save_for_backward(inputs, rounded)
        return _product(inputs, rounded, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        inputs, rounded = ctx.saved_tensors
        (gradient,) = gradients
        outer = gradient.bfloat16()
        below, weight, bias, _ = ctx.needs_input_grad
        return (
            (outer @ rounded).float() if below else None,
            (outer.flatten(0, -2).t() @ inputs.flatten(0, -2)).float() if weight else None,
            gradient.flatten(0, -2).sum(0) if bias else None,
            None,
        )


def _product(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return nn.functional.linear(inputs, weight).float().add_(bias)
