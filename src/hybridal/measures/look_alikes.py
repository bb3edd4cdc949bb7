"""Groups of texts that are almost the same, found by MinHash and locality-sensitive hashing.

Two texts are look-alikes if the Jaccard similarity of their sets of shingles (runs of five characters) is at least
0.8. Numbers in a text with enough words are masked, so that the texts of a template are alike. Signatures of 64 minima
estimate the similarity, 16 bands of four minima find candidates, and the exact similarity decides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Ints

SIMILARITY = 0.8
SHINGLE = 5  # characters; works for scripts without blanks, too
MIN_LETTERS, LETTERS_PER_DIGIT = 50, 2  # of a text whose numbers are masked

Hashes = NDArray[np.uint64]
_BANDS, _MINIMA_PER_BAND = 16, 4  # of 10,000 pairs with a similarity of 0.8, two have no band in common
_MINIMA = _BANDS * _MINIMA_PER_BAND
_CHARACTERS_PER_CHUNK = 1_000_000
_TEXTS_PER_BAND, _COMPARED = 16, 16
_MARGIN = 0.2  # four standard errors of a similarity that 64 minima estimate
_MIX = np.uint64(0x9E3779B97F4A7C15)
_RNG = np.random.default_rng(20260801)  # any seed; the same signatures in every process
_FACTORS, _OFFSETS = (_RNG.integers(0, 2**63, _MINIMA, dtype=np.uint64) * np.uint64(2) + np.uint64(1) for _ in "ab")
_BAND_FACTORS = _RNG.integers(0, 2**63, _MINIMA_PER_BAND, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
# Blanks and punctuation of common scripts; signs such as emoji are content.
_SEPARATORS = re.compile(r"[\s!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]+")

_DIGITS = re.compile(r"\d+")
_NUMBERS = re.compile(r"\d+(?: \d+)*")  # of a normalised text; also dates and amounts
_MASK = "#"  # punctuation, so no normalised text with letters has it


def normalised(text: str) -> str:
    """Make what does not matter equal: case, width of characters, blanks and punctuation. Numbers stay.

    >>> normalised("  Hello,\\n WORLD - 5 stars! ")
    'hello world 5 stars'
    """
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    return _SEPARATORS.sub(" ", folded).strip() or " ".join(folded.split())


def comparable(text: str) -> str:
    """The normalised text in which numbers do not count, if the rest of it is long enough to be a template.

    Letters are counted instead of words, since some scripts have no blanks; 50 of them are about ten English words.
    In a shorter text, and in one that consists mostly of digits, a number may be what the text says.

    >>> comparable("Order 31377 of 23.06.2026 has not arrived yet, so please tell me when it is delivered.")
    'order # of # has not arrived yet so please tell me when it is delivered'
    >>> comparable("5 stars!"), comparable("Room 12")
    ('5 stars', 'room 12')
    """
    found = normalised(text)
    digits = sum(map(len, _DIGITS.findall(found)))
    letters = len(found) - found.count(" ") - digits
    is_template = digits and letters >= max(MIN_LETTERS, LETTERS_PER_DIGIT * digits)
    return _NUMBERS.sub(_MASK, found) if is_template else found


def shingles(text: str) -> Hashes:
    """Hash the distinct runs of five characters of a text, in ascending order.

    >>> len(shingles("aaaaaaaaa")), len(shingles("")) > 0
    (3, True)
    """
    hashes, _ = _shingles_of([text])
    return np.unique(hashes)


def similarity(one: Hashes, other: Hashes) -> float:
    """The Jaccard similarity of two sets of shingles.

    >>> similarity(shingles("The same text."), shingles("the same text"))
    1.0
    """
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


def look_alikes(
    texts: Sequence[str], threshold: float = SIMILARITY, on_progress: Callable[[int], object] = lambda _done: None
) -> Ints:
    """Find the group of each text: the position of its first text, or its own position if it is the first.

    Texts are added in their order. A text that is equal to an earlier one (see `comparable`) joins its group, another
    text that of the most similar first text, if that is at least as similar as the threshold; else it becomes the
    first of a group. So each text of a group is similar to the first one, there are no chains, and more texts at the
    end leave the groups of the others as they are.

    Args:
        texts: The texts.
        threshold: The least Jaccard similarity to the first text of a group.
        on_progress: Receives how many texts were read so far.

    Returns:
        The position of the first text of each text's group.

    >>> look_alikes(["Out of stock.", "Buy now, only today!", "out of stock", "buy NOW only today"]).tolist()
    [0, 1, 0, 1]
    """
    known: dict[str, int] = {}
    first = np.array([known.setdefault(comparable(text), at) for at, text in enumerate(texts)], dtype=np.int64)
    distinct = np.flatnonzero(first == np.arange(len(texts)))
    search = _Search(texts, threshold)
    for part in _chunks(texts, distinct):
        for at, signature in zip(part.tolist(), signatures([texts[at] for at in part]), strict=True):
            first[at] = search.first_of(at, signature)
        on_progress(int(part[-1]) + 1)
    return first[first]  # texts that are equal to one that joined a group


def signatures(texts: Sequence[str]) -> NDArray[np.uint32]:
    """The minima of 64 hashes of each text's shingles: two texts share as many of them as their similarity says.

    >>> one, other = signatures(["The quick brown fox jumps over it.", "The quick brown fox jumps over us."])
    >>> 0.6 < float((one == other).mean()) < 0.95
    True
    """
    hashes, starts = _shingles_of(texts)
    found = np.empty((len(texts), _MINIMA), dtype=np.uint32)
    for column, (factor, offset) in enumerate(zip(_FACTORS, _OFFSETS, strict=True)):
        permuted = ((hashes * factor + offset) >> np.uint64(32)).astype(np.uint32)
        found[:, column] = np.minimum.reduceat(permuted, starts)
    return found


class _Search:
    """The first texts of all groups so far, in a table of bands.

    Thousands of texts may be just too different to be look-alikes, and be in the same few bands. So a band keeps few
    texts, which its other bands tell apart, and few candidates are compared exactly: the work per text is limited.
    """

    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        self._threshold = threshold
        self._tables: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in range(_BANDS)]
        self._signatures = np.empty((len(texts), _MINIMA), dtype=np.uint32)
        self._shingles = lru_cache(maxsize=2000)(lambda at: shingles(texts[at]))

    def first_of(self, at: int, signature: NDArray[np.uint32]) -> int:
        """The first text of the group that a text joins; itself if it begins one."""
        bands = _bands(signature)
        best, found = 0.0, at
        for candidate in self._candidates(bands, signature):
            exact = similarity(self._shingles(at), self._shingles(candidate))
            if exact >= self._threshold and (exact, -candidate) > (best, -found):
                best, found = exact, candidate
        if found == at:
            self._signatures[at] = signature
            for table, band in zip(self._tables, bands, strict=True):
                if len(table[band]) < _TEXTS_PER_BAND:
                    table[band].append(at)
        return found

    def _candidates(self, bands: Sequence[int], signature: NDArray[np.uint32]) -> list[int]:
        """The texts that are probably the most similar."""
        alike = {one for table, band in zip(self._tables, bands, strict=True) for one in table.get(band, ())}
        if not alike:
            return []
        rows = np.array(sorted(alike), dtype=np.int64)
        estimates = (self._signatures[rows] == signature).mean(axis=1)
        order = np.argsort(-estimates, kind="stable")[:_COMPARED]
        found: list[int] = rows[order[estimates[order] >= self._threshold - _MARGIN]].tolist()
        return found


def _bands(signature: NDArray[np.uint32]) -> list[int]:
    """One number for each band of a signature."""
    mixed = signature.astype(np.uint64).reshape(_BANDS, _MINIMA_PER_BAND) * _BAND_FACTORS
    found: list[int] = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(29)), axis=1).tolist()
    return found


def _chunks(texts: Sequence[str], positions: Ints) -> Iterator[Ints]:
    """Positions of texts with about a million characters together, so that memory does not grow with the texts."""
    lengths = np.array([len(texts[at]) for at in positions], dtype=np.int64)
    chunk = np.cumsum(lengths) // _CHARACTERS_PER_CHUNK
    yield from (part for part in np.split(positions, np.flatnonzero(np.diff(chunk)) + 1) if len(part))


def _shingles_of(texts: Sequence[str]) -> tuple[Hashes, Ints]:
    """The hashed shingles of all texts one after the other, and where those of each text start; none has none."""
    padded = [f" {comparable(text)} ".ljust(SHINGLE) for text in texts]
    lengths = np.array([len(one) for one in padded], dtype=np.int64)
    # Lone surrogates, which Python strings may have, are numbers like all others.
    characters = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    count = len(characters) - SHINGLE + 1
    hashes = np.zeros(count, dtype=np.uint64)
    for offset in range(SHINGLE):
        hashes = (hashes ^ characters[offset : offset + count]) * _MIX
        hashes ^= hashes >> np.uint64(31)
    ends = np.cumsum(lengths)
    own = lengths - SHINGLE + 1
    inside = np.arange(count) - np.repeat(ends - lengths, lengths)[:count] < np.repeat(own, lengths)[:count]
    return hashes[inside], np.cumsum(own) - own
