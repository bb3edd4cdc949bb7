"""Optimiser steps as graphs: forward, backward and AdamW in one launch; an epoch never waits for the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor

from hybridal.core.outputs import Ints
from hybridal.core.rules import Rules
from hybridal.models.gpu.graph_inputs import Shape, step_inputs
from hybridal.models.gpu.graph_recorder import WARM_UPS
from hybridal.models.training.adamw import AdamW
from hybridal.models.training.examples import Examples
from hybridal.models.training.losses import CROSS_ENTROPY, Loss
from hybridal.updates import Weights

if TYPE_CHECKING:
    from hybridal.models.gpu.graphs import CudaGraphs

# How many steps an embedding row may go without its lazy AdamW update.
MAX_STEPS_PER_RUN = 1024


class Optimizer(Protocol):
    """AdamW inside a graph. Steps come in runs that begin with `plan` and end with `catch_up`."""

    def state(self) -> dict[str, Tensor]:
        """The state of each weight, under torch's names."""

    def weights_changed(self) -> None:
        """Must be called after weights or state were written from elsewhere."""

    def plan(self, rates: Sequence[float]) -> None:
        """Before steps at these rates, `MAX_STEPS_PER_RUN` or fewer."""

    def clear(self) -> None:
        """Clear the gradients before a step."""

    def step(self) -> None:
        """Apply the gradients at the next rate."""

    def catch_up(self) -> None:
        """After all planned steps: apply the lazy updates."""


class TorchOptimizer:
    """Torch's AdamW on all weights; the graph reads the learning rate from a tensor."""

    def __init__(self, named: Mapping[str, Any], decay: float, device: Any) -> None:
        self._rate, self._rates = (
            torch.zeros((), device=device),
            torch.zeros(MAX_STEPS_PER_RUN + WARM_UPS, device=device),
        )
        self._next = torch.zeros(1, dtype=torch.int64, device=device)
        self._optimizer = AdamW(named, decay)
        for name in named:
            self._optimizer.keep(name)

    def state(self) -> dict[str, Tensor]:
        return self._optimizer.moments()

    def weights_changed(self) -> None:
        self._next.zero_()

    def plan(self, rates: Sequence[float]) -> None:
        self._next.zero_()
        self._rates[: len(rates)].copy_(torch.tensor(rates))

    def clear(self) -> None:
        self._optimizer.clear()

    def step(self) -> None:
        self._rate.copy_(self._rates.index_select(0, self._next)[0])
        self._next.add_(1)
        self._optimizer.step(self._rate)

    def catch_up(self) -> None:
        pass


class GraphSteps:
    """One graph per batch shape and dropout mode. The optimiser is reset in place, since graphs hold its addresses."""

    def __init__(self, graphs: CudaGraphs, rules: Rules, loss: Loss = CROSS_ENTROPY) -> None:
        self._classifier, self._recorder, self._inputs = graphs.classifier, graphs.recorder, step_inputs(graphs)
        self._loss = loss
        self._named = graphs.classifier.trainable()
        self._optimizer = _optimizer(graphs, rules)
        self._state = self._optimizer.state()

    def begin(self, moments: Weights | None) -> None:
        """Reset the optimiser, or continue with these moments."""
        with torch.no_grad():
            torch._foreach_zero_(list(self._state.values()))
            if carried := {name: moments[name] for name in self._state if moments and name in moments}:
                torch._foreach_copy_([self._state[name] for name in carried], list(carried.values()))
            self._optimizer.weights_changed()

    def run(self, examples: Examples, batches: Sequence[Ints], rates: Sequence[float], seed: int) -> None:
        """One step per batch, each at its rate. All batches are sent first; no step waits for the device."""
        if not batches:
            return
        self._loss.prepare(self._recorder.device)
        shapes, packed = zip(*self._inputs.pack(examples, batches, seed), strict=True)
        sent = torch.from_numpy(np.concatenate(packed)).to(self._recorder.device).split([len(row) for row in packed])
        steps = {
            shape: self._step(shape, len(row)) for shape, row in sorted(dict(zip(shapes, sent, strict=True)).items())
        }
        self._recorder.generator.manual_seed(seed)
        work = [(row, *steps[shape]) for shape, row in zip(shapes, sent, strict=True)]
        for start in range(0, len(work), MAX_STEPS_PER_RUN):
            self._launch(work[start : start + MAX_STEPS_PER_RUN], rates[start : start + MAX_STEPS_PER_RUN])

    def _launch(self, work: Sequence[tuple[Tensor, Tensor, Callable[[], None]]], rates: Sequence[float]) -> None:
        self._optimizer.plan(rates)
        for row, inputs, replay in work:
            inputs.copy_(row)
            replay()
        self._optimizer.catch_up()

    def moments(self) -> dict[str, Tensor]:
        """A copy of the optimiser's state."""
        return {name: tensor.clone() for name, tensor in self._state.items()}

    def _step(self, shape: Shape, numbers: int) -> tuple[Tensor, Callable[[], None]]:
        dropout = self._classifier.module.training
        # `self` is part of the key: a graph holds the optimiser that it was recorded with.
        return self._recorder.cached((self, shape, dropout, self._loss.version), lambda: self._record(shape, numbers))

    def _record(self, shape: Shape, numbers: int) -> tuple[Tensor, Callable[[], None]]:
        # Labels 0, and texts of one token if lengths are part of the input.
        inputs = torch.ones(numbers, dtype=torch.int32, device=self._recorder.device)

        def work() -> None:
            self._optimizer.clear()
            self._loss(*self._inputs.read(inputs, shape)).backward()
            self._optimizer.step()

        # Warming up trains on made-up input, which must leave no trace.
        touched: list[Any] = [*self._named.values(), *self._state.values()]
        kept = [tensor.detach().clone() for tensor in touched]
        replay = self._recorder.record(work)
        with torch.no_grad():
            torch._foreach_copy_(touched, kept)
        self._optimizer.weights_changed()
        return inputs, replay


def _optimizer(graphs: CudaGraphs, rules: Rules) -> Optimizer:
    if (encoder := graphs.fused_encoder) is None:
        return TorchOptimizer(graphs.classifier.trainable(), rules.weight_decay, graphs.recorder.device)
    from hybridal.models.gpu.adamw_kernels import FusedEncoderAdamW

    return FusedEncoderAdamW(encoder, rules.weight_decay, MAX_STEPS_PER_RUN)
