"""What differs between two texts that are almost the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Literal

Kind = Literal["same", "added", "removed"]

CONTEXT = 60  # characters that are shown on each side of a longer equal part
_MAX_COMPARED = 400  # words between the first and the last difference; more are shown as one difference
# Scripts without blanks are compared character by character.
_TOKENS = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|\s+|[^\w\s]")


def differences(one: str, other: str) -> list[tuple[str, Kind]]:
    """Divide two texts into parts that both have, that only the other has, and that only the first has.

    Args:
        one: The text to compare with.
        other: The text in which parts were added or removed. Long parts of both are shortened.

    >>> differences("Parcel 12 was sent.", "Parcel 34 was sent.")
    [('Parcel ', 'same'), ('12', 'removed'), ('34', 'added'), (' was sent.', 'same')]
    >>> differences("not good", "good")
    [('not ', 'removed'), ('good', 'same')]
    """
    parts = [(kind, text) for kind, text in _parts(_TOKENS.findall(one), _TOKENS.findall(other)) if text]
    merged = [(kind, "".join(text for _, text in some)) for kind, some in groupby(parts, key=itemgetter(0))]
    last = len(merged) - 1
    return [
        (_shortened(text, at > 0, at < last) if kind == "same" else text, kind)
        for at, (kind, text) in enumerate(merged)
    ]


def _parts(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    most = min(len(one), len(other)) - start
    end = next((at for at in range(most) if one[-1 - at] != other[-1 - at]), most)
    yield "same", "".join(other[:start])
    before, after = one[start : len(one) - end], other[start : len(other) - end]
    steps = [("replace", 0, len(before), 0, len(after))]
    if max(len(before), len(after)) <= _MAX_COMPARED:
        steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()  # type: ignore[assignment]
    for step, begin, stop, begin_after, stop_after in steps:
        if step == "equal":
            yield "same", "".join(after[begin_after:stop_after])
        else:
            yield "removed", "".join(before[begin:stop])
            yield "added", "".join(after[begin_after:stop_after])
    yield "same", "".join(other[len(other) - end :])


def _shortened(text: str, follows: bool, precedes: bool) -> str:
    """A part of both texts without its middle, or without the end that no difference is next to."""
    if len(text) <= 2 * CONTEXT + 3:
        return text
    if not follows and not precedes:
        return f"{text[: 2 * CONTEXT]} …"
    start, end = text[:CONTEXT] if follows else "", text[-CONTEXT:] if precedes else ""
    return f"{start} … {end}" if start and end else f"… {end}" if end else f"{start} …"
