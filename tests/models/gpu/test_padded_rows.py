from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from hybridal.models.gpu.padded_rows import NO_LABEL, bucket, pack, unpack
from hybridal.models.token_arrays import Tokens


@given(st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=9), min_size=1, max_size=6), st.integers(0, 3))
def test_unpacking_gives_back_what_was_packed(texts: list[list[int]], spare: int) -> None:
    tokens, rows = Tokens.of(texts, pad=0), np.arange(len(texts))
    packed = torch.from_numpy(pack(tokens, rows, rows, len(texts) + spare, 16))
    labels, ids, mask = unpack(packed)
    expected, masked = tokens.batch(rows)
    width = expected.shape[1]
    assert labels.tolist() == [*rows.tolist(), *[NO_LABEL] * spare]
    assert ids[: len(rows), :width].tolist() == expected.tolist()
    assert mask[: len(rows), 0, 0, :width].long().tolist() == masked.tolist()
    assert not mask[: len(rows), 0, 0, width:].any()
    # A row without a text attends to one token, so that no number in it is undefined.
    assert mask[len(rows) :].sum().item() == spare


@given(st.integers(1, 600), st.integers(1, 32), st.integers(1, 600))
def test_a_bucket_is_the_next_step_that_the_model_can_read(length: int, step: int, most: int) -> None:
    found = bucket(min(length, most), step, most)
    wide_enough = [n for n in range(1, most + 1) if n >= min(length, most) and (n % step == 0 or n == most)]
    assert found == min(wide_enough)
