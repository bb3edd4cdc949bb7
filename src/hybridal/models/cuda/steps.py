"""Optimiser steps as graphs: forward, backward and AdamW in one launch, an epoch without waiting for the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hybridal.core.outputs import Ints
from hybridal.core.rules import Rules
from hybridal.models.classifier import Classifier
from hybridal.models.cuda.recorder import Recorder
from hybridal.models.cuda.rows import bucket, pack, unpack
from hybridal.models.examples import Examples
from hybridal.models.rates import varies
from hybridal.models.steps import PARTS
from hybridal.models.tokens import Tokens
from hybridal.updates import Weights

# Steps of length: short enough that little is padded, few enough graphs that recording them pays.
STEP = 16


class GraphSteps:
    """One graph per length, batch size and mode of dropout; the optimiser is reset in place, where graphs know it."""

    def __init__(self, classifier: Classifier, recorder: Recorder, rules: Rules) -> None:
        self._classifier, self._recorder = classifier, recorder
        self._named = classifier.trainable()
        # A graph reads a rate that varies from where it lies; one that is constant is part of it.
        self._rate = torch.tensor(rules.learning_rate, device=recorder.device) if varies(rules) else None
        rate = rules.learning_rate if self._rate is None else self._rate
        self._optimizer = torch.optim.AdamW(
            self._named.values(), lr=rate, weight_decay=rules.weight_decay, fused=True, capturable=True
        )
        for parameter in self._named.values():
            step = torch.zeros((), device=parameter.device)
            moments = (torch.zeros_like(parameter), torch.zeros_like(parameter))
            self._optimizer.state[parameter] = dict(zip(PARTS, (step, *moments), strict=True))

    def begin(self, moments: Weights | None) -> None:
        """A fresh optimiser, or one that carries these moments on."""
        state = self._state()
        with torch.no_grad():
            for name, tensor in state.items():
                if moments is not None and name in moments:
                    tensor.copy_(moments[name])
                else:
                    tensor.zero_()

    def run(self, examples: Examples, batches: Sequence[Ints], rates: Sequence[float], seed: int) -> None:
        """One step a batch, each at its rate. All batches are sent first, then launched; nothing waits in between."""
        if not batches:
            return
        tokens = examples.source
        assert isinstance(tokens, Tokens)
        size = max(map(len, batches))
        longest = [int(tokens.lengths(examples.rows[batch]).max()) for batch in batches]
        lengths = [bucket(length, STEP, self._classifier.positions) for length in longest]
        packed = [pack(tokens, examples.rows[batch], examples.labels[batch], size, max(lengths)) for batch in batches]
        sent = torch.from_numpy(np.stack(packed)).to(self._recorder.device)
        steps = {length: self._step(size, length) for length in sorted(set(lengths))}
        self._recorder.generator.manual_seed(seed)
        for number, (length, rate) in enumerate(zip(lengths, rates, strict=True)):
            inputs, replay = steps[length]
            if self._rate is not None:
                self._rate.fill_(float(rate))
            inputs.copy_(sent[number, :, : 2 + length])
            replay()

    def moments(self) -> dict[str, Tensor]:
        """A copy of the optimiser's state."""
        return {name: tensor.clone() for name, tensor in self._state().items()}

    def _step(self, size: int, length: int) -> tuple[Tensor, Callable[[], None]]:
        dropout = self._classifier.module.training
        # These steps are part of the key: a graph knows the optimiser that it was recorded with.
        return self._recorder.once((self, size, length, dropout), lambda: self._record(size, length))

    def _record(self, size: int, length: int) -> tuple[Tensor, Callable[[], None]]:
        inputs = torch.ones((size, 2 + length), dtype=torch.int32, device=self._recorder.device)
        inputs[:, 0] = 0

        def work() -> None:
            labels, ids, mask = unpack(inputs)
            self._optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(self._classifier.logits(ids, mask), labels).backward()
            self._optimizer.step()

        # Warming up trains on nonsense, which must leave no trace.
        touched: list[Any] = [*self._named.values(), *self._state().values()]
        kept = [tensor.detach().clone() for tensor in touched]
        replay = self._recorder.record(work)
        with torch.no_grad():
            torch._foreach_copy_(touched, kept)
        return inputs, replay

    def _state(self) -> dict[str, Tensor]:
        return {
            f"{part}/{name}": self._optimizer.state[parameter][part]
            for name, parameter in self._named.items()
            for part in PARTS
        }
