"""Optimiser steps as graphs: forward, backward and AdamW in one launch, an epoch without waiting for the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from hybridal.core.outputs import Ints
from hybridal.core.rules import Rules
from hybridal.models.gpu.graph_inputs import Shape, feed_of
from hybridal.models.gpu.recorder import WARM_UPS
from hybridal.models.training.adamw import AdamW
from hybridal.models.training.examples import Examples
from hybridal.updates import Weights

if TYPE_CHECKING:
    from hybridal.models.gpu.graphs import CudaGraphs

# Steps between which a word that does not occur may wait for its own.
AT_ONCE = 1024


class Optimizer(Protocol):
    """AdamW inside a graph. Steps come in runs, which begin with `plan` and end with `catch_up`."""

    def state(self) -> dict[str, Tensor]:
        """What is kept of each weight, under the names that torch's optimiser has for it."""

    def written(self) -> None:
        """After weights or state were written from elsewhere."""

    def plan(self, rates: Sequence[float]) -> None:
        """Before steps at these rates, `AT_ONCE` and fewer."""

    def clear(self) -> None:
        """Before the gradients of a step are computed."""

    def step(self) -> None:
        """With these gradients, at the next rate."""

    def catch_up(self) -> None:
        """After all planned steps: brings weights that waited to the last of them."""


class TorchOptimizer:
    """Torch's own, on all weights; a graph reads the rate from where it lies."""

    def __init__(self, named: Mapping[str, Any], decay: float, device: Any) -> None:
        self._rate, self._rates = torch.zeros((), device=device), torch.zeros(AT_ONCE + WARM_UPS, device=device)
        self._next = torch.zeros(1, dtype=torch.int64, device=device)
        self._optimizer = AdamW(named, decay)
        for name in named:
            self._optimizer.keep(name)

    def state(self) -> dict[str, Tensor]:
        return self._optimizer.moments()

    def written(self) -> None:
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
    """One graph per shape of a batch and mode of dropout; the optimiser is reset in place, where graphs know it."""

    def __init__(self, graphs: CudaGraphs, rules: Rules) -> None:
        self._classifier, self._recorder, self._feed = graphs.classifier, graphs.recorder, feed_of(graphs)
        self._named = graphs.classifier.trainable()
        self._optimizer = _optimizer(graphs, rules)
        self._state = self._optimizer.state()

    def begin(self, moments: Weights | None) -> None:
        """A fresh optimiser, or one that carries these moments on."""
        with torch.no_grad():
            torch._foreach_zero_(list(self._state.values()))
            if carried := {name: moments[name] for name in self._state if moments and name in moments}:
                torch._foreach_copy_([self._state[name] for name in carried], list(carried.values()))
            self._optimizer.written()

    def run(self, examples: Examples, batches: Sequence[Ints], rates: Sequence[float], seed: int) -> None:
        """One step a batch, each at its rate. All batches are sent first, then launched; nothing waits in between."""
        if not batches:
            return
        shapes, packed = zip(*self._feed.pack(examples, batches, seed), strict=True)
        sent = torch.from_numpy(np.concatenate(packed)).to(self._recorder.device).split([len(row) for row in packed])
        steps = {
            shape: self._step(shape, len(row)) for shape, row in sorted(dict(zip(shapes, sent, strict=True)).items())
        }
        self._recorder.generator.manual_seed(seed)
        work = [(row, *steps[shape]) for shape, row in zip(shapes, sent, strict=True)]
        for start in range(0, len(work), AT_ONCE):
            self._launch(work[start : start + AT_ONCE], rates[start : start + AT_ONCE])

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
        # These steps are part of the key: a graph knows the optimiser that it was recorded with.
        return self._recorder.once((self, shape, dropout), lambda: self._record(shape, numbers))

    def _record(self, shape: Shape, numbers: int) -> tuple[Tensor, Callable[[], None]]:
        # Labels 0, and texts of one token where a length is asked for.
        inputs = torch.ones(numbers, dtype=torch.int32, device=self._recorder.device)

        def work() -> None:
            self._optimizer.clear()
            nn.functional.cross_entropy(*self._feed.read(inputs, shape)).backward()
            self._optimizer.step()

        # Warming up trains on nonsense, which must leave no trace.
        touched: list[Any] = [*self._named.values(), *self._state.values()]
        kept = [tensor.detach().clone() for tensor in touched]
        replay = self._recorder.record(work)
        with torch.no_grad():
            torch._foreach_copy_(touched, kept)
        self._optimizer.written()
        return inputs, replay


def _optimizer(graphs: CudaGraphs, rules: Rules) -> Optimizer:
    if (stack := graphs.stack) is None:
        return TorchOptimizer(graphs.classifier.trainable(), rules.weight_decay, graphs.recorder.device)
    from hybridal.models.gpu.adamw_kernels import StackOptimizer

    return StackOptimizer(stack, rules.weight_decay, AT_ONCE)
