"""The gradient over many texts as graphs: one launch per batch, and one for the norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hybridal.core.outputs import Ints
from hybridal.models.gpu.graph_passes import batches, texts_of
from hybridal.models.gpu.padded_rows import pack, unpack
from hybridal.models.token_arrays import Tokens
from hybridal.models.training.losses import CROSS_ENTROPY, Loss

if TYPE_CHECKING:
    from hybridal.models.gpu.graphs import CudaGraphs

# Tokens of a batch: activations are kept for the backward pass, which takes far more memory than a forward pass.
TOKENS_PER_BATCH = 2**13


def gradient_norm(graphs: CudaGraphs, tokens: Tokens, rows: Ints, labels: Ints, loss: Loss = CROSS_ENTROPY) -> float:
    """As `forward_passes.gradient_norm`."""
    gradient = graphs.recorder.cached(("gradient", loss), lambda: Gradient(graphs, loss))
    gradient.clear()
    for batch, length in batches(tokens.lengths(rows), graphs.classifier.positions, TOKENS_PER_BATCH):
        gradient.add(tokens, rows[batch], labels[batch], length)
    return gradient.norm() / len(rows)


class Gradient:
    """The sum of the gradients of several batches, at fixed addresses."""

    def __init__(self, graphs: CudaGraphs, loss: Loss) -> None:
        self._graphs, self._recorder, self._loss = graphs, graphs.recorder, loss
        self._parameters = list(graphs.classifier.trainable().values())
        self._sums = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._squares = torch.zeros(len(self._sums), dtype=torch.float64, device=graphs.recorder.device)
        self._measure = graphs.recorder.record(self._square)

    def clear(self) -> None:
        torch._foreach_zero_(self._sums)

    def add(self, tokens: Tokens, rows: Ints, labels: Ints, length: int) -> None:
        inputs, replay = self._recorder.cached(
            ("gradient", self, length, self._loss.version), lambda: self._record(length)
        )
        inputs.copy_(torch.from_numpy(pack(tokens, rows, labels, len(inputs), length)))
        replay()

    def norm(self) -> float:
        self._measure()
        return math.sqrt(sum(self._squares.tolist()))

    def _square(self) -> None:
        torch.stack([part.double().square().sum() for part in self._sums], out=self._squares)

    def _record(self, length: int) -> tuple[Tensor, Callable[[], None]]:
        size = (texts_of(length, TOKENS_PER_BATCH), 2 + length)
        inputs = torch.ones(size, dtype=torch.int32, device=self._recorder.device)

        def work() -> None:
            labels, ids, mask = unpack(inputs)
            loss = self._loss(self._graphs.run_padded(ids, mask).logits, labels, reduction="sum")
            found = torch.autograd.grad(loss, self._parameters, allow_unused=True)
            known = [(total, part) for total, part in zip(self._sums, found, strict=True) if part is not None]
            torch._foreach_add_([total for total, _ in known], [part for _, part in known])

        # Warming up adds the gradient of made-up input.
        kept = [part.clone() for part in self._sums]
        replay = self._recorder.record(work)
        torch._foreach_copy_(self._sums, kept)
        return inputs, replay
