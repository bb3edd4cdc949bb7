"""Texts as token ids: tokenised once, cached on disk as one ragged array, memory-mapped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Ints
from hybridal.system.files import folder_made_whole, remove_folder

# Texts that are tokenised at a time: enough to keep every core busy, and few enough to need little memory.
CHUNK = 4096

Progress = Callable[[int, int], None]
"""Called with the number of finished texts and of all."""


def no_progress(_done: int, _of: int) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """Row i is `flat[offsets[i]:offsets[i + 1]]`.

    >>> tokens = Tokens(np.array([5, 6, 7, 8]), np.array([0, 1, 4]), pad=0)
    >>> ids, mask = tokens.batch(np.array([0, 1]))
    >>> ids.tolist(), mask.tolist()
    ([[5, 0, 0], [6, 7, 8]], [[1, 0, 0], [1, 1, 1]])
    """

    flat: NDArray[Any]
    offsets: Ints
    pad: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], pad: int) -> Tokens:
        """Tokens in memory, not cached."""
        offsets = np.cumsum([0, *map(len, rows)])
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, offsets[-1]), offsets, pad)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self, rows: Ints) -> Ints:
        lengths: Ints = self.offsets[rows + 1] - self.offsets[rows]
        return lengths

    def slice(self, start: int, stop: int) -> Tokens:
        return Tokens(self.flat, self.offsets[start : stop + 1], self.pad)

    def batch(self, rows: Ints) -> tuple[Ints, Ints]:
        """Token ids and attention mask, padded to the longest row."""
        lengths = self.lengths(rows)
        columns = np.arange(lengths.max())
        mask = columns < lengths[:, None]
        ids = np.full(mask.shape, self.pad, dtype=np.int64)
        ids[mask] = self.flat[(self.offsets[rows][:, None] + columns)[mask]]
        return ids, mask.astype(np.int64)

    def joined(self, rows: Ints) -> Ints:
        """The token ids of these rows, one after the other."""
        flat = np.asarray(self.flat)  # a slice of a mapped file would be one too, which costs more than its bytes
        return np.concatenate([flat[self.offsets[r] : self.offsets[r + 1]] for r in rows]).astype(np.int64)


class Tokenizer(Protocol):
    """Turns texts into token ids with special tokens, truncated to a length."""

    @property
    def pad(self) -> int: ...

    @property
    def key(self) -> str:
        """Equal for tokenizers that give equal tokens."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]: ...


def tokenise(texts: Sequence[str], tokenizer: Tokenizer, folder: Path, progress: Progress = no_progress) -> Tokens:
    """The tokens of these texts, from the cache in `folder` if they are there; else they are added to it."""
    home = folder / _key(texts, tokenizer)
    try:
        return _read(home, len(texts), tokenizer.pad)
    except (OSError, ValueError, EOFError):
        remove_folder(home)  # if it exists it is damaged: programs that clean up caches may delete a part
    with folder_made_whole(home) as scratch:
        _write(texts, tokenizer, scratch, progress)
    return _read(home, len(texts), tokenizer.pad)


def length_sorted(lengths: Ints, tokens: int) -> Iterator[Ints]:
    """Batches of similar lengths with at most this many tokens; longest first, so that memory runs out early or never.

    >>> [batch.tolist() for batch in length_sorted(np.array([3, 9, 1, 9]), 18)]
    [[1, 3], [0, 2]]
    """
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        size = max(1, tokens // max(1, int(lengths[order[0]])))
        yield order[:size]
        order = order[size:]


def _read(home: Path, rows: int, pad: int) -> Tokens:
    offsets = np.load(home / "offsets.npy")
    if len(offsets) != rows + 1 or (home / "flat.i32").stat().st_size != offsets[-1] * np.dtype(np.int32).itemsize:
        raise ValueError(f"{home} is incomplete")
    # An empty file cannot be mapped.
    flat = np.memmap(home / "flat.i32", dtype=np.int32, mode="r") if offsets[-1] else np.empty(0, np.int32)
    return Tokens(flat, offsets, pad)


def _write(texts: Sequence[str], tokenizer: Tokenizer, scratch: Path, progress: Progress) -> None:
    lengths = np.zeros(len(texts) + 1, dtype=np.int64)
    with (scratch / "flat.i32").open("wb") as file:
        for start in range(0, len(texts), CHUNK):
            part = Tokens.of(tokenizer.encode(texts[start : start + CHUNK]), tokenizer.pad)
            lengths[start + 1 : start + 1 + len(part)] = np.diff(part.offsets)
            part.flat.tofile(file)
            progress(start + len(part), len(texts))
    np.save(scratch / "offsets.npy", np.cumsum(lengths))


def _key(texts: Sequence[str], tokenizer: Tokenizer) -> str:
    digest = hashlib.sha256(tokenizer.key.encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]
