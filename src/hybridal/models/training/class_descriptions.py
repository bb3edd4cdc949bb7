"""Class names and descriptions as extra training texts, which `TransformerModel` adds to the labelled ones."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence, Set

import numpy as np

from hybridal.core.outputs import Floats, Ints

# With more classes their names are not used: a probe over that many examples and classes takes minutes.
MAX_NAMED_CLASSES = 1000


def class_descriptions(
    classes: Sequence[str], descriptions: Mapping[str, Sequence[str]], excluded: Set[str] = frozenset()
) -> tuple[list[str], Ints]:
    """Names and descriptions of classes as texts.

    Args:
        classes: Names of the classes.
        descriptions: Descriptions and examples, by class name.
        excluded: Texts that must not be learnt, such as those of the validation split: people copy examples from them.

    Returns:
        The texts, names first (see `readable_names`), and the number of each text's class.

    >>> texts, of = class_descriptions(["HUM", "LOC"], {"LOC": ["a place", "Where is Oslo?"]}, {"Where is Oslo?"})
    >>> texts, of.tolist()
    (['HUM', 'LOC', 'a place'], [0, 1, 1])
    """
    names = readable_names(classes)
    written = [
        (text, number)
        for number, name in enumerate(classes)
        for text in descriptions.get(name, ())
        if text.strip() not in excluded
    ]
    of = np.array([*range(len(names)), *(number for _, number in written)], dtype=np.int64)
    return [*names, *(text for text, _ in written)], of


def class_centroids(features: Floats, of: Ints, classes: int) -> Floats | None:
    """The mean feature vector of each class's descriptions, (classes, width); None if a class has none.

    >>> class_centroids(np.array([[0.0], [4.0], [6.0]]), np.array([0, 1, 1]), 2).tolist()
    [[0.0], [5.0]]
    """
    if set(of.tolist()) != set(range(classes)):
        return None
    return np.stack([features[of == number].mean(axis=0) for number in range(classes)])


def readable_names(classes: Sequence[str]) -> list[str]:
    """Class names as words: `card_arrival` and `LostCard` become two words each.

    Returns [] if a name has no letter, or if names differ in their digits only: numbers carry no meaning and would
    attract texts with numbers. Names that would become equal, such as C and C++, are left as written.

    >>> readable_names(["card_arrival", "LostCard", "Sci/Tech"])
    ['card arrival', 'Lost Card', 'Sci Tech']
    >>> readable_names(["good", "2"]), readable_names(["LABEL_0", "LABEL_1"])
    ([], [])
    >>> readable_names(["C", "C++", "Go"]), readable_names(["तकनीक", "ดี"])
    (['C', 'C++', 'Go'], ['तकनीक', 'ดี'])
    """
    if len(classes) > MAX_NAMED_CLASSES:
        return []
    names = [_words(name) for name in classes]
    counts = Counter(name.casefold() for name in names)
    names = [words if counts[words.casefold()] == 1 else name for words, name in zip(names, classes, strict=True)]
    same = len(names) > 1 and len({re.sub(r"\d", "", name) for name in names}) == 1
    return [] if same or not all(any(map(str.isalpha, name)) for name in names) else names


def _words(name: str) -> str:
    """The letters, marks and digits of a name; everything else becomes a blank."""
    composed = unicodedata.normalize("NFC", name)
    kept = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in composed)
    return " ".join(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kept).split())
