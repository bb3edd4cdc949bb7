from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.models import token_arrays as module
from hybridal.models.token_arrays import Tokens, length_sorted, tokenise

HOSTILE = ["", " ", "\0", "\ud800", "🦊" * 50, "a\nb\r\nc", "x" * 10_000, "ﷺ", "\ufeffbom", "‮rtl", "a", "a"]
ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6), min_size=1, max_size=8)
TEXTS = st.lists(st.text(max_size=6), max_size=9)


class Letters:
    """Encodes a text as the numbers of its letters, truncated, and counts its calls."""

    pad = 9

    def __init__(self, max_length: int = 128, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.max_length, self.meanwhile = max_length, meanwhile
        self.asked: list[int] = []

    @property
    def key(self) -> str:
        return f"letters cut to {self.max_length}"

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        self.asked.append(len(texts))
        self.meanwhile()
        return [[ord(letter) for letter in text][: self.max_length] for text in texts]


def rows_of(tokens: Tokens) -> list[list[int]]:
    ends = tokens.offsets.tolist()
    return [tokens.flat[start:end].tolist() for start, end in pairwise(ends)]


@settings(deadline=None)
@given(ROWS, st.data(), st.integers(0, 5))
def test_a_batch_is_padded_to_its_longest_row(rows: list[list[int]], data: st.DataObject, pad: int) -> None:
    tokens = Tokens.of(rows, pad)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    width = max(len(rows[i]) for i in chosen)
    ids, mask = tokens.batch(np.array(chosen))
    assert ids.tolist() == [rows[i] + [pad] * (width - len(rows[i])) for i in chosen]
    assert mask.tolist() == [[1] * len(rows[i]) + [0] * (width - len(rows[i])) for i in chosen]
    assert tokens.lengths(np.array(chosen)).tolist() == [len(rows[i]) for i in chosen]
    assert ids.dtype == mask.dtype == np.int64


@settings(deadline=None)
@given(ROWS, st.data())
def test_a_slice_holds_its_rows(rows: list[list[int]], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    part = Tokens.of(rows, 0).slice(start, stop)
    assert len(part) == stop - start
    assert rows_of(part) == rows[start:stop]


def test_no_texts_are_no_rows() -> None:
    assert len(Tokens.of([], 0)) == 0


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 40))
def test_batches_of_like_length_hold_each_row_once_longest_first(lengths: list[int], most: int) -> None:
    batches = [batch.tolist() for batch in length_sorted(np.array(lengths, dtype=np.int64), most)]
    together = [row for batch in batches for row in batch]
    assert together == sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    for batch in batches:
        longest = max(1, lengths[batch[0]])
        assert len(batch) == 1 or len(batch) * longest <= most
        if batch is not batches[-1]:
            assert (len(batch) + 1) * longest > most, "one more would have fitted"


@settings(deadline=None, max_examples=40)
@given(texts=TEXTS, chunk=st.integers(1, 4))
def test_tokens_survive_the_disk(tmp_path_factory: pytest.TempPathFactory, texts: list[str], chunk: int) -> None:
    folder, encoder = tmp_path_factory.mktemp("cache"), Letters(4)
    reports: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        tokens = tokenise(texts, encoder, folder, lambda done, of: reports.append((done, of)))
    assert rows_of(tokens) == Letters(4).encode(texts)
    assert tokens.pad == encoder.pad
    assert sum(encoder.asked) == len(texts)
    assert max(encoder.asked, default=0) <= chunk
    assert reports == [(min(done, len(texts)), len(texts)) for done in range(chunk, len(texts) + chunk, chunk)]


def test_texts_are_encoded_once(tmp_path: Path) -> None:
    first, second = Letters(), Letters()
    made = tokenise(HOSTILE, first, tmp_path)
    found = tokenise(HOSTILE, second, tmp_path)
    assert first.asked == [len(HOSTILE)]
    assert second.asked == []
    assert rows_of(found) == rows_of(made) == Letters().encode(HOSTILE)


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_texts_without_tokens(tmp_path: Path, texts: list[str]) -> None:
    for _ in range(2):
        assert rows_of(tokenise(texts, Letters(), tmp_path)) == [[] for _ in texts]


def test_batches_off_the_disk_are_those_of_memory(tmp_path: Path) -> None:
    rows = np.array([10, 6, 1, 6, 4])
    for found, expected in zip(
        tokenise(HOSTILE, Letters(), tmp_path).batch(rows),
        Tokens.of(Letters().encode(HOSTILE), Letters.pad).batch(rows),
        strict=True,
    ):
        assert np.array_equal(found, expected)


def test_tokens_on_disk_are_not_to_be_changed(tmp_path: Path) -> None:
    tokens = tokenise(["abc"], Letters(), tmp_path)
    with pytest.raises(ValueError, match="read-only"):
        tokens.flat[0] = 1


@pytest.mark.parametrize(
    ("texts", "length"),
    [(["ab", "c"], 5), (["a", "bc"], 4), (["ab", "c", ""], 4), (["c", "ab"], 4), (["abc"], 4), (["ab\0c"], 4)],
)
def test_other_texts_or_another_length_are_kept_apart(tmp_path: Path, texts: list[str], length: int) -> None:
    tokenise(["ab", "c"], Letters(4), tmp_path)
    other = Letters(length)
    assert rows_of(tokenise(texts, other, tmp_path)) == Letters(length).encode(texts)
    assert other.asked == [len(texts)]
    assert len(os.listdir(tmp_path)) == 2


def test_concurrent_tokenisations_share_one_result(tmp_path: Path) -> None:
    texts = ["ab", "c"]
    early = Letters()
    late = Letters(meanwhile=lambda: tokenise(texts, early, tmp_path))
    assert rows_of(tokenise(texts, late, tmp_path)) == Letters().encode(texts)
    assert (early.asked, late.asked) == ([2], [2])
    assert len(os.listdir(tmp_path)) == 1


def test_an_encoder_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tokenise(["ab"], Letters(meanwhile=fail), tmp_path)
    assert os.listdir(tmp_path) == []
    assert rows_of(tokenise(["ab"], Letters(), tmp_path)) == Letters().encode(["ab"])


@pytest.mark.parametrize("name", ["flat.i32", "offsets.npy"])
@pytest.mark.parametrize("left", [None, 0, 0.5])
def test_damaged_token_files_are_rebuilt(tmp_path: Path, name: str, left: float | None) -> None:
    tokenise(HOSTILE, Letters(), tmp_path)
    (file,) = tmp_path.glob(f"*/{name}")
    if left is None:
        file.unlink()
    else:
        os.truncate(file, int(left * file.stat().st_size) // 4 * 4)
    encoder = Letters()
    for _ in range(2):
        assert rows_of(tokenise(HOSTILE, encoder, tmp_path)) == Letters().encode(HOSTILE)
    assert encoder.asked == [len(HOSTILE)]
    assert len(os.listdir(tmp_path)) == 1
