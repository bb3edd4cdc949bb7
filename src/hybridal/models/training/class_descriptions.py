"""What is said of classes, as texts for an encoder to read: their names, and what people wrote down of them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence, Set

import numpy as np

from hybridal.core.outputs import Floats, Ints

# With more classes than this their names are no examples: a probe of as many examples as classes takes minutes.
MANY = 1000


def said_of(
    classes: Sequence[str], meanings: Mapping[str, Sequence[str]], measured: Set[str] = frozenset()
) -> tuple[list[str], Ints]:
    """Texts that say what classes are, their names first where all of them say something, and the class of each.

    People take examples from the texts before them: those that are `measured` on must not be learnt, and are left out.

    >>> texts, of = said_of(["HUM", "LOC"], {"LOC": ["a place", "Where is Oslo?"]}, {"Where is Oslo?"})
    >>> texts, of.tolist()
    (['HUM', 'LOC', 'a place'], [0, 1, 1])
    """
    names = spoken(classes)
    written = [
        (text, number)
        for number, name in enumerate(classes)
        for text in meanings.get(name, ())
        if text.strip() not in measured
    ]
    of = np.array([*range(len(names)), *(number for _, number in written)], dtype=np.int64)
    return [*names, *(text for text, _ in written)], of


def middles(features: Floats, of: Ints, classes: int) -> Floats | None:
    """Where each class lies: in the middle of all that is said of it. None where nothing is said of one.

    >>> middles(np.array([[0.0], [4.0], [6.0]]), np.array([0, 1, 1]), 2).tolist()
    [[0.0], [5.0]]
    """
    if set(of.tolist()) != set(range(classes)):
        return None
    return np.stack([features[of == number].mean(axis=0) for number in range(classes)])


def spoken(classes: Sequence[str]) -> list[str]:
    """The names of classes as texts, `card_arrival` and `LostCard` as two words; [] where one of them says nothing.

    Numbers say nothing, and would draw texts that are near to numbers; nor do names that differ in their numbers alone.
    A name that sounds like another, as C and C++ do, stays as it is written.

    >>> spoken(["card_arrival", "LostCard", "Sci/Tech"]), spoken(["good", "2"]), spoken(["LABEL_0", "LABEL_1"])
    (['card arrival', 'Lost Card', 'Sci Tech'], [], [])
    >>> spoken(["C", "C++", "Go"]), spoken(["तकनीक", "ดี"])
    (['C', 'C++', 'Go'], ['तकनीक', 'ดี'])
    """
    if len(classes) > MANY:
        return []
    names = [_words(name) for name in classes]
    heard = Counter(name.casefold() for name in names)
    names = [said if heard[said.casefold()] == 1 else name for said, name in zip(names, classes, strict=True)]
    same = len(names) > 1 and len({re.sub(r"\d", "", name) for name in names}) == 1
    return [] if same or not all(any(map(str.isalpha, name)) for name in names) else names


def _words(name: str) -> str:
    """Letters, their marks and numbers, with blanks for all else."""
    composed = unicodedata.normalize("NFC", name)
    kept = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in composed)
    return " ".join(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kept).split())
