from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybridal.models.gpu.graph_inputs import PaddedSteps, RowSteps
from hybridal.models.gpu.padded_rows import NO_LABEL
from hybridal.models.token_arrays import Tokens
from hybridal.models.training.examples import Examples

LISTS = st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=90), min_size=1, max_size=9)
ANY: Any = SimpleNamespace(classifier=SimpleNamespace(positions=128))


def of(texts: list[list[int]]) -> tuple[Examples, list[Any]]:
    """Examples whose labels are their numbers, in batches of four from last to first."""
    rows = np.arange(len(texts))
    order = rows[::-1]
    return Examples(Tokens.of(texts, pad=0), rows, rows), [order[n : n + 4] for n in range(0, len(order), 4)]


@given(LISTS)
def test_one_row_holds_all_texts_of_a_batch(texts: list[list[int]]) -> None:
    examples, batches = of(texts)
    for batch, (shape, row) in zip(batches, RowSteps(ANY).pack(examples, batches, 1), strict=True):
        size, tokens, longest = shape
        labels, lengths, _, ids, order = np.split(row, np.cumsum([size, size, 1, tokens]))
        count = lengths.sum()
        assert labels.tolist() == [*batch, *[NO_LABEL] * (size - len(batch))]
        assert ids[:count].tolist() == [number for n in batch for number in texts[n]]
        assert not ids[count:].any()
        assert lengths.max() <= longest
        # Each token once, equal ones in the order of the row.
        assert sorted(order) == list(range(tokens))
        assert sorted(zip(ids, range(tokens), strict=True)) == [(ids[n], n) for n in order]


def test_a_row_has_room_for_a_token_of_each_text_of_a_full_batch() -> None:
    """A step is recorded with such texts: with a shorter row its kernels would write beyond the end."""
    texts = Examples(Tokens.of([[1, 2]] * 301, pad=0), np.arange(301), np.zeros(301, dtype=np.int64))
    shapes = [shape for shape, _ in RowSteps(ANY).pack(texts, [np.arange(300), np.arange(300, 301)], 1)]
    assert shapes == [(300, 640, 64), (300, 384, 64)]


@given(LISTS)
def test_each_batch_has_a_seed_of_its_own(texts: list[list[int]]) -> None:
    examples, batches = of(texts)
    size = len(batches[0])
    seeds = {int(row[2 * size]) for _, row in RowSteps(ANY).pack(examples, batches, 1)}
    again = {int(row[2 * size]) for _, row in RowSteps(ANY).pack(examples, batches, 1)}
    assert len(seeds) == len(batches)
    assert seeds == again


@given(LISTS)
def test_padded_has_a_row_a_text(texts: list[list[int]]) -> None:
    examples, batches = of(texts)
    for batch, (shape, packed) in zip(batches, PaddedSteps(ANY).pack(examples, batches, 1), strict=True):
        rows = packed.reshape(shape[0], -1)
        for row, number in zip(rows, batch, strict=False):
            assert row[0] == number
            assert row[2 : 2 + row[1]].tolist() == texts[number]
        assert (rows[len(batch) :, 0] == NO_LABEL).all()
