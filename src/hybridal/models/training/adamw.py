"""AdamW with torch's fused kernel; torch's own class first imports a compiler, which takes longer than a round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

# The state of each parameter, under torch's names.
PARTS = ("step", "exp_avg", "exp_avg_sq")


class AdamW:
    """Updates parameters in place; `state` holds each parameter's moments after its first step."""

    def __init__(self, named: Mapping[str, Any], decay: float) -> None:
        self._named, self._decay = named, decay
        self.state: dict[str, dict[str, Tensor]] = {}

    def moments(self) -> dict[str, Tensor]:
        """The state by part and name; the tensors are not copied."""
        return {f"{part}/{name}": kept[part] for name, kept in self.state.items() for part in PARTS}

    def keep(self, name: str) -> dict[str, Tensor]:
        """The state of a parameter; zeros if it has none yet."""
        if name not in self.state:
            parameter = self._named[name]
            zeros = (torch.zeros((), device=parameter.device), *(torch.zeros_like(parameter) for _ in range(2)))
            self.state[name] = dict(zip(PARTS, (zero.detach() for zero in zeros), strict=True))
        return self.state[name]

    def clear(self) -> None:
        """Clear all gradients."""
        for parameter in self._named.values():
            parameter.grad = None

    def step(self, rate: float | Tensor) -> None:
        """Apply one step; parameters without a gradient are not changed."""
        moved = [name for name, parameter in self._named.items() if parameter.grad is not None]
        steps, means, squares = ([self.keep(name)[part] for name in moved] for part in PARTS)
        with torch.no_grad():
            torch._foreach_add_(steps, 1)
            torch._fused_adamw_(
                [self._named[name] for name in moved],
                [self._named[name].grad for name in moved],
                means,
                squares,
                [],
                steps,
                lr=rate,
                beta1=0.9,
                beta2=0.999,
                weight_decay=self._decay,
                eps=1e-8,
                amsgrad=False,
                maximize=False,
            )
            # The fused kernel does not count as a change; `RoundedLinear` asks by it whether its copy is stale.
            torch.autograd.graph.increment_version([self._named[name] for name in moved])
