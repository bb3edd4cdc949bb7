"""The inputs of recorded steps: batches as arrays of few shapes, and the logits for such an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from hybridal.core.outputs import Ints
from hybridal.models.gpu.padded_rows import NO_LABEL, bucket, pack, unpack
from hybridal.models.token_arrays import Tokens
from hybridal.models.training.examples import Examples

if TYPE_CHECKING:
    from hybridal.models.gpu.graphs import CudaGraphs

# Lengths are rounded up to a multiple: small enough that little is padding, large enough that there are few graphs.
LENGTH_STEP = 16
# A row has a multiple of this many tokens, or of a quarter of the power of two below its length.
MIN_ROW_TOKENS = 128
# Texts of a row count as at least this long: attention processes blocks of this many tokens.
MIN_TEXT_LENGTH = 64

Shape = tuple[int, ...]
Packed = list[tuple[Shape, NDArray[np.int32]]]


class StepInputs(Protocol):
    """`PaddedSteps` or `RowSteps`."""

    def pack(self, examples: Examples, batches: Sequence[Ints], seed: int) -> Packed:
        """Each batch as one array, with its shape."""

    def read(self, inputs: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
        """Logits and labels of an array on the device."""


def step_inputs(graphs: CudaGraphs) -> StepInputs:
    return PaddedSteps(graphs) if graphs.fused_encoder is None else RowSteps(graphs)


class PaddedSteps:
    """One text per row, padded to the longest."""

    def __init__(self, graphs: CudaGraphs) -> None:
        self._graphs = graphs

    def pack(self, examples: Examples, batches: Sequence[Ints], _seed: int) -> Packed:
        tokens = _tokens(examples)
        size, found = max(map(len, batches)), cast("Packed", [])
        for batch in batches:
            rows = examples.rows[batch]
            length = bucket(int(tokens.lengths(rows).max()), LENGTH_STEP, self._graphs.classifier.positions)
            found.append(((size, length), pack(tokens, rows, examples.labels[batch], size, length).ravel()))
        return found

    def read(self, inputs: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
        labels, ids, mask = unpack(inputs.view(shape[0], -1))
        return self._graphs.run_padded(ids, mask).logits, labels


class RowSteps:
    """All texts of a batch in one row, padded only at its end: labels, lengths, a seed, token ids, their order."""

    def __init__(self, graphs: CudaGraphs) -> None:
        self._graphs = graphs

    def pack(self, examples: Examples, batches: Sequence[Ints], seed: int) -> Packed:
        tokens = _tokens(examples)
        size, found = max(map(len, batches)), cast("Packed", [])
        rows = examples.rows[np.concatenate(batches)]
        lengths = tokens.lengths(rows)
        joined, ends = tokens.joined(rows), np.cumsum([0, *lengths])
        seeds = np.random.default_rng(seed).integers(2**30, size=len(batches))
        start = 0
        for batch, own_seed in zip(batches, seeds, strict=True):
            stop = start + len(batch)
            count, longest = int(ends[stop] - ends[start]), int(lengths[start:stop].max())
            # A step is recorded with `size` texts of one token, so that a row must have room for these.
            shape = size, row_length(max(count, size)), text_length(longest)
            row = one_row(joined[ends[start] : ends[stop]], lengths[start:stop], shape, tokens.pad)
            words, order = row[2 * size + 1 :].reshape(2, -1)
            row[: len(batch)], row[2 * size] = examples.labels[batch], own_seed
            order[:] = np.argsort(words, kind="stable")
            found.append((shape, row))
            start = stop
        return found

    def read(self, inputs: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
        size, _, longest = shape
        return self._graphs.run_row(inputs, size, longest).logits, inputs[:size].long()


def one_row(words: Ints, lengths: Ints, shape: Shape, pad: int) -> NDArray[np.int32]:
    """The array of these texts, whose tokens are `words`; labels, seed and order are still to be filled in."""
    size, tokens, _ = shape
    row = np.full(2 * size + 1 + 2 * tokens, pad, dtype=np.int32)
    row[:size], row[size : 2 * size] = NO_LABEL, 0
    row[size : size + len(lengths)] = lengths
    row[2 * size + 1 : 2 * size + 1 + len(words)] = words
    return row


def row_length(tokens: int) -> int:
    """Round up the length of a row: there are few lengths, and little of a long row is padding.

    >>> row_length(1), row_length(500), row_length(1100)
    (128, 512, 1280)
    """
    step = max(MIN_ROW_TOKENS, 1 << max(0, tokens.bit_length() - 3))
    return -(-max(tokens, 1) // step) * step


def text_length(longest: int) -> int:
    return max(MIN_TEXT_LENGTH, 1 << (longest - 1).bit_length())


def _tokens(examples: Examples) -> Any:
    assert isinstance(examples.source, Tokens)
    return examples.source
