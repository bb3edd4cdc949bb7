"""Forward passes as graphs: one launch per batch, and one transfer for many batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.models.encoders.classifier_module import ClassifierOutput
from hybridal.models.gpu.graph_inputs import Shape, one_row, row_length, text_length
from hybridal.models.gpu.padded_rows import bucket, pack, unpack
from hybridal.models.token_arrays import Progress, Tokens

if TYPE_CHECKING:
    from hybridal.models.gpu.graphs import CudaGraphs

# Lengths are rounded up to a multiple: small enough that little is padding, large enough that there are few graphs.
LENGTH_STEP = 16
# At most this many texts and tokens per padded batch, which bounds its memory.
MAX_BATCH_TEXTS, MAX_BATCH_TOKENS = 512, 2**15
# Batches whose outputs stay on the GPU before one transfer.
BATCHES_PER_TRANSFER = 32
# At most this many texts and tokens per row.
MAX_ROW_TEXTS, MAX_ROW_TOKENS = 128, 2**13


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

    layout = PaddedPass(graphs) if batch_invariant or graphs.fused_encoder is None else RowPass(graphs)
    for batch, shape, packed in layout.packed(tokens, rows, batch_invariant):
        one = graphs.recorder.cached((type(layout), shape), lambda: _record(graphs, layout, shape, packed.size))  # noqa: B023
        # Pinned, so that the next batch is packed here while this one is computed there.
        one.inputs.copy_(torch.from_numpy(packed.ravel()).pin_memory(), non_blocking=True)
        one.replay()
        wanted = one.outputs if features else ("logits",)
        waiting.append((batch, {name: one.outputs[name].clone() for name in wanted}))
        if len(waiting) == BATCHES_PER_TRANSFER:
            bring()
    bring()
    return Outputs(found["logits"], found.get("hidden"), found.get("embedding"))


class PassInputs(Protocol):
    """`PaddedPass` or `RowPass`."""

    def packed(
        self, tokens: Tokens, rows: Ints, batch_invariant: bool
    ) -> Iterator[tuple[Ints, Shape, NDArray[np.int32]]]:
        """The positions of a batch in `rows`, its shape, and the batch as an array."""

    def run(self, inputs: Tensor, shape: Shape) -> ClassifierOutput:
        """The outputs for such a batch on the device."""


class PaddedPass:
    """One text per row, longest first, so that little is padded."""

    def __init__(self, graphs: CudaGraphs) -> None:
        self._graphs = graphs

    def packed(
        self, tokens: Tokens, rows: Ints, batch_invariant: bool
    ) -> Iterator[tuple[Ints, Shape, NDArray[np.int32]]]:
        for batch, length in batches(
            tokens.lengths(rows), self._graphs.classifier.positions, MAX_BATCH_TOKENS, batch_invariant
        ):
            shape = texts_of(length, MAX_BATCH_TOKENS), length
            yield batch, shape, pack(tokens, rows[batch], None, *shape)

    def run(self, inputs: Tensor, shape: Shape) -> ClassifierOutput:
        _, ids, mask = unpack(inputs.view(shape[0], -1))
        return self._graphs.run_padded(ids, mask)


class RowPass:
    """Several texts per row, padded only at its end.

    All rows of a pass have one shape: recording a second graph costs more than a few rows that are not full.
    """

    def __init__(self, graphs: CudaGraphs) -> None:
        self._graphs = graphs

    def packed(
        self, tokens: Tokens, rows: Ints, _batch_invariant: bool
    ) -> Iterator[tuple[Ints, Shape, NDArray[np.int32]]]:
        lengths = tokens.lengths(rows)
        parts = list(row_slices(lengths))
        longest = max(int(lengths[part].sum()) for part in parts)
        shape = MAX_ROW_TEXTS, row_length(longest), text_length(int(lengths.max()))
        for part in parts:
            batch = np.arange(part.start, part.stop)
            yield batch, shape, one_row(tokens.joined(rows[batch]), lengths[batch], shape, tokens.pad)

    def run(self, inputs: Tensor, shape: Shape) -> ClassifierOutput:
        return self._graphs.run_row(inputs, shape[0], shape[2])


def row_slices(lengths: Ints) -> Iterator[slice]:
    """Consecutive texts, as many at a time as a row may have.

    >>> [(part.start, part.stop) for part in row_slices(np.array([5000, 3000, 3000, 9000, 1]))]
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    ends, start = np.cumsum(lengths), 0
    while start < len(lengths):
        fit = int(np.searchsorted(ends, ends[start] - lengths[start] + MAX_ROW_TOKENS, side="right"))
        stop = min(start + MAX_ROW_TEXTS, max(start + 1, fit))
        yield slice(start, stop)
        start = stop


def batches(lengths: Ints, most: int, max_tokens: int, batch_invariant: bool = False) -> Iterator[tuple[Ints, int]]:
    """The rows of each batch of at most `max_tokens` tokens, longest first, and their padded length.

    With `batch_invariant`, each text is padded to its own length.
    """
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        length = bucket(int(lengths[order[0]]), LENGTH_STEP, most)
        size = texts_of(length, max_tokens)
        if batch_invariant:
            size = min(size, int(np.count_nonzero(lengths[order] > (length - 1) // LENGTH_STEP * LENGTH_STEP)))
        yield order[:size], length
        order = order[size:]


def texts_of(length: int, max_tokens: int) -> int:
    """How many texts of this length a batch has."""
    return max(1, min(MAX_BATCH_TEXTS, max_tokens // length))


def _record(graphs: CudaGraphs, layout: PassInputs, shape: Shape, numbers: int) -> Pass:
    inputs = torch.ones(numbers, dtype=torch.int32, device=graphs.recorder.device)
    outputs: dict[str, Tensor] = {}

    def work() -> None:
        outputs.update({name: values.float() for name, values in layout.run(inputs, shape)._asdict().items()})

    return Pass(inputs, outputs, graphs.recorder.record(work, inference=True))
