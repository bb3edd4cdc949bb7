"""Which words of a text speak for a predicted class, and which against it: by leaving out one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import east_asian_width

import numpy as np

from hybridal.core.outputs import Floats

MAX_PARTS = 48  # of a text; in longer texts a part is several words, so that the time does not grow with the text
LOWEST = 1e-6  # probabilities are clipped to this, and to 1 minus this, so that log-odds are finite

_WORD = re.compile(r"\w+(?:['’.@-]\w+)*")


@dataclass(frozen=True, eq=False)
class Occlusion:
    """How much each part of a text speaks for each class.

    Attributes:
        spans: Start and end of each part in the text: a word, or several in a long text.
        weights: Row i: by how much part i raises the log-odds of each class; a negative weight speaks against it.
        probabilities: The probability of each class for the whole text.

    Example:
        >>> predict_proba = lambda texts: np.array([[0.9 if "good" in one else 0.5] for one in texts])
        >>> found = occlusion("cheap but good", predict_proba)
        >>> found.spans, found.weights.round(2).ravel().tolist()
        (((0, 5), (6, 9), (10, 14)), [0.0, 0.0, 2.2])
    """

    spans: tuple[tuple[int, int], ...]
    weights: Floats
    probabilities: Floats


def occlusion(text: str, predict_proba: Callable[[Sequence[str]], Floats], max_parts: int = MAX_PARTS) -> Occlusion:
    """Measure how the probabilities change if a part of the text is left out.

    Args:
        text: The text; the model has to read all of it.
        predict_proba: Returns a row of probabilities for each text; called once, with at most `max_parts` + 1 texts.
        max_parts: Into how many parts the text is divided at most.

    Returns:
        The parts and their weights.
    """
    spans = parts_of(text, max_parts)
    found = predict_proba([text, *(_without(text, start, end) for start, end in spans)])
    odds = _log_odds(found)
    return Occlusion(tuple(spans), odds[0] - odds[1:], found[0])


def parts_of(text: str, max_parts: int = MAX_PARTS) -> list[tuple[int, int]]:
    """Divide a text into words, or into at most `max_parts` runs of words of nearly the same number.

    Signs of scripts without spaces count as words.

    Example:
        >>> [text[start:end] for text in ["Don't pay twice!"] for start, end in parts_of(text)]
        ["Don't", 'pay', 'twice']
        >>> parts_of("不好"), parts_of("a b c d", max_parts=2)
        ([(0, 1), (1, 2)], [(0, 3), (4, 7)])
    """
    words = [span for found in _WORD.finditer(text) for span in _signs(text, *found.span())]
    bounds = np.linspace(0, len(words), min(max_parts, len(words)) + 1).round().astype(int).tolist()
    return [(words[first][0], words[last - 1][1]) for first, last in pairwise(bounds)]


def _signs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split a run of letters of a script without spaces into its signs."""
    if not any(east_asian_width(sign) in "WF" for sign in text[start:end]):
        return [(start, end)]
    return [(at, at + 1) for at in range(start, end)]


def _without(text: str, start: int, end: int) -> str:
    """Leave a part out, with the space behind it."""
    return text[:start] + (text[end:].lstrip(" ") if start == 0 or text[start - 1].isspace() else text[end:])


def _log_odds(probabilities: Floats) -> Floats:
    clipped = np.clip(np.asarray(probabilities, dtype=np.float64), LOWEST, 1 - LOWEST)
    return np.asarray(np.log(clipped / (1 - clipped)))


def prefix_with_same_tokens(text: str, encode: Callable[[Sequence[str]], Sequence[Sequence[int]]]) -> str:
    """The beginning of a text that a model with a limited length reads, found by bisection.

    Args:
        text: The text.
        encode: Returns the token ids of texts, cut off at the limit.

    Example:
        >>> first_two_words = lambda texts: [[hash(word) for word in one.split()[:2]] for one in texts]
        >>> prefix_with_same_tokens("one two three four", first_two_words)
        'one two'
    """
    [whole] = encode([text])
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        if list(encode([text[:middle]])[0]) == list(whole):
            high = middle
        else:
            low = middle + 1
    return text[:high]
