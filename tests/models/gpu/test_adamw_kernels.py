from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from .parts import ON, needs_kernels, row_of

RATES = [1e-2, 5e-3, 2e-2, 1e-2, 1e-2, 3e-2]
# Words come back after a while; 11 never occurs.
STEPS = [[[1, 2], [2]], [[3]], [[3, 4, 3]], [[1]], [[5]], [[2, 1]]]


class Weights:
    """The weights of an encoder: three small arrays and a table of words."""

    def __init__(self) -> None:
        drawn = torch.Generator().manual_seed(0)
        arrays = [torch.randn(n, generator=drawn).to(ON) for n in (1500, 40, 7)]
        self.matrices, self.vectors, self.rest = self.rounded, self.rounded_vectors, _ = arrays
        self.gradient, self.vector_gradient, self.rest_gradient = (torch.zeros_like(array) for array in arrays)
        self.words = nn.Embedding(12, 6).to(ON)
        with torch.no_grad():
            self.words.weight.copy_(torch.randn(12, 6, generator=drawn))
        self.embeddings = SimpleNamespace(words=self.words, word_gradients=lambda: self.looked_up)
        self.looked_up: Any = None

    @property
    def arrays(self) -> list[Tensor]:
        return [self.matrices, self.vectors, self.rest, self.words.weight.detach()]

    def named(self, arrays: list[Tensor]) -> dict[str, Tensor]:
        return dict(zip(("matrices", "vectors", "rest", "words"), arrays, strict=True))

    def refresh(self) -> None:
        pass


def gradients(step: int, shapes: list[Any]) -> list[Tensor]:
    drawn = torch.Generator().manual_seed(100 + step)
    return [torch.randn(shape, generator=drawn).to(ON) for shape in shapes]


def by_torch(carried: int) -> list[Tensor]:
    weights = [nn.Parameter(array.clone()) for array in Weights().arrays]
    optimizer = torch.optim.AdamW(weights, weight_decay=0.1)
    for number, (texts, rate) in enumerate(zip(STEPS[:carried], RATES, strict=False)):
        row = row_of(texts)
        *given, tokens = gradients(number, [1500, 40, 7, (len(row.values[0]), 6)])
        words = torch.zeros(12, 6, device=ON).index_add(0, row.values[0], tokens)
        for parameter, gradient in zip(weights, (*given, words), strict=True):
            parameter.grad = gradient
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return [parameter.detach() for parameter in weights]


def by_kernels(runs: list[int]) -> list[Tensor]:
    """Train with the GPU kernels: as many steps in each run as the list has."""
    from hybridal.models.gpu.adamw_kernels import FusedEncoderAdamW

    weights: Any = Weights()
    optimizer = FusedEncoderAdamW(weights, 0.1, most=8)
    optimizer.weights_changed()
    number = 0
    for steps in runs:
        optimizer.plan(RATES[number : number + steps])
        for texts in STEPS[number : number + steps]:
            row = row_of(texts)
            shapes = [1500, 40, 7, (len(row.values[0]), 6)]
            *given, tokens = gradients(number, shapes)
            for place, gradient in zip(
                (weights.gradient, weights.vector_gradient, weights.rest_gradient), given, strict=True
            ):
                place.copy_(gradient)
            weights.looked_up = (row.values[0], row.order, tokens)
            optimizer.step()
            number += 1
        optimizer.catch_up()
    return [array.clone() for array in weights.arrays]


@needs_kernels
def test_lazy_rows_equal_torchs_adamw() -> None:
    for expected, found in zip(by_torch(6), by_kernels([6]), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@needs_kernels
def test_lazy_interval_changes_no_bit() -> None:
    whole = by_kernels([6])
    for runs in ([1] * 6, [2, 4]):
        assert all(a.equal(b) for a, b in zip(by_kernels(runs), whole, strict=True))
