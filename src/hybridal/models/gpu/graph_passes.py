"""Passes over texts as graphs: one launch a batch, and one transfer for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.models.encoders.classifier_output import ClassifierOutput
from hybridal.models.gpu.graph_inputs import Shape, one_row, row_length, text_length
from hybridal.models.gpu.padded_rows import bucket, pack, unpack
from hybridal.models.token_arrays import Progress, Tokens

if TYPE_CHECKING:
    from hybridal.models.gpu.graphs import CudaGraphs

# Steps of length: short enough that little is padded, few enough graphs that recording them pays.
STEP = 16
# A batch has so many texts, and fewer where they are long: so that its memory is bounded.
TEXTS, TOKENS = 512, 2**15
# What a GPU keeps before it is brought over: enough batches that the transfer does not count.
WAITING = 32
# A row has so many texts, and fewer where they are long.
ROW_TEXTS, ROW_TOKENS = 128, 2**13


@dataclass(frozen=True)
class Pass:
    """A recorded pass: fill `inputs`, replay, read `outputs`."""

    inputs: Tensor
    outputs: dict[str, Tensor]
    replay: Callable[[], None]


def predict(
    graphs: CudaGraphs,
    tokens: Tokens,
    rows: Ints,
    features: bool,
    progress: Progress,
    batch_invariant: bool = False,
) -> Outputs:
    """As `forward_passes.predict`. The rows of a recorded pass depend on each other only by their length."""
    done = 0
    found: dict[str, Floats] = {}
    waiting: list[tuple[Ints, dict[str, Tensor]]] = []

    def bring() -> None:
        nonlocal done
        for batch, outputs in waiting:
            done += len(batch)
            for name, values in outputs.items():
                if name not in found:
                    found[name] = np.empty((len(rows), values.shape[1]), dtype=np.float32)
                found[name][batch] = values.cpu().numpy()[: len(batch)]
        waiting.clear()
        progress(done, len(rows))

    way = Padded(graphs) if batch_invariant or graphs.stack is None else InRows(graphs)
    for batch, shape, packed in way.packed(tokens, rows, batch_invariant):
        one = graphs.recorder.once((type(way), shape), lambda: _record(graphs, way, shape, packed.size))  # noqa: B023
        # Pinned, so that the next batch is packed here while this one is computed there.
        one.inputs.copy_(torch.from_numpy(packed.ravel()).pin_memory(), non_blocking=True)
        one.replay()
        wanted = one.outputs if features else ("logits",)
        waiting.append((batch, {name: one.outputs[name].clone() for name in wanted}))
        if len(waiting) == WAITING:
            bring()
    bring()
    return Outputs(found["logits"], found.get("hidden"), found.get("embedding"))


class Way(Protocol):
    """One of the two below."""

    def packed(
        self, tokens: Tokens, rows: Ints, batch_invariant: bool
    ) -> Iterator[tuple[Ints, Shape, NDArray[np.int32]]]:
        """Which of the rows are in a batch, the shape that it has, and the batch as numbers."""

    def run(self, inputs: Tensor, shape: Shape) -> ClassifierOutput:
        """The outputs for such a batch on the device."""


class Padded:
    """A row a text, longest first, so that little is padded."""

    def __init__(self, graphs: CudaGraphs) -> None:
        self._graphs = graphs

    def packed(
        self, tokens: Tokens, rows: Ints, batch_invariant: bool
    ) -> Iterator[tuple[Ints, Shape, NDArray[np.int32]]]:
        for batch, length in batches(tokens.lengths(rows), self._graphs.classifier.positions, TOKENS, batch_invariant):
            shape = texts_of(length, TOKENS), length
            yield batch, shape, pack(tokens, rows[batch], None, *shape)

    def run(self, inputs: Tensor, shape: Shape) -> ClassifierOutput:
        _, ids, mask = unpack(inputs.view(shape[0], -1))
        return self._graphs.run_padded(ids, mask)


class InRows:
    """Texts in rows, one after the other, padded at their end alone. All rows of a pass have one shape: a second graph
    costs more to record than a few rows that are not full."""

    def __init__(self, graphs: CudaGraphs) -> None:
        self._graphs = graphs

    def packed(
        self, tokens: Tokens, rows: Ints, _batch_invariant: bool
    ) -> Iterator[tuple[Ints, Shape, NDArray[np.int32]]]:
        lengths = tokens.lengths(rows)
        parts = list(stretches(lengths))
        longest = max(int(lengths[part].sum()) for part in parts)
        shape = ROW_TEXTS, row_length(longest), text_length(int(lengths.max()))
        for part in parts:
            batch = np.arange(part.start, part.stop)
            yield batch, shape, one_row(tokens.joined(rows[batch]), lengths[batch], shape, tokens.pad)

    def run(self, inputs: Tensor, shape: Shape) -> ClassifierOutput:
        return self._graphs.run_row(inputs, shape[0], shape[2])


def stretches(lengths: Ints) -> Iterator[slice]:
    """Texts in their order, as many at a time as a row may have.

    >>> [(part.start, part.stop) for part in stretches(np.array([5000, 3000, 3000, 9000, 1]))]
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    ends, start = np.cumsum(lengths), 0
    while start < len(lengths):
        fit = int(np.searchsorted(ends, ends[start] - lengths[start] + ROW_TOKENS, side="right"))
        stop = min(start + ROW_TEXTS, max(start + 1, fit))
        yield slice(start, stop)
        start = stop


def batches(lengths: Ints, most: int, at_once: int, batch_invariant: bool = False) -> Iterator[tuple[Ints, int]]:
    """The rows of each batch of so many tokens, longest first, and the length that they are padded to.

    With `batch_invariant`, each is padded to its own.
    """
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        length = bucket(int(lengths[order[0]]), STEP, most)
        size = texts_of(length, at_once)
        if batch_invariant:
            size = min(size, int(np.count_nonzero(lengths[order] > (length - 1) // STEP * STEP)))
        yield order[:size], length
        order = order[size:]


def texts_of(length: int, at_once: int) -> int:
    """How many texts of this length a batch of so many tokens has."""
    return max(1, min(TEXTS, at_once // length))


def _record(graphs: CudaGraphs, way: Way, shape: Shape, numbers: int) -> Pass:
    inputs = torch.ones(numbers, dtype=torch.int32, device=graphs.recorder.device)
    outputs: dict[str, Tensor] = {}

    def work() -> None:
        outputs.update({name: values.float() for name, values in way.run(inputs, shape)._asdict().items()})

    return Pass(inputs, outputs, graphs.recorder.record(work, inference=True))
