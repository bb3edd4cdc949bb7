"""Warn about texts in two splits: metrics on training texts are too high."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

_log = logging.getLogger(__name__)


def note_overlaps(
    texts: Mapping[str, Sequence[str]],
    place: Callable[[str, int], str],
    notify: Callable[[str], None] | None = None,
) -> None:
    """Warn about texts that are in two splits, with their number and an example.

    Args:
        texts: The texts of each split, by its name; the training split comes first.
        place: Describes the position of a row, given the name of its split and its number.
        notify: Receives the messages; by default they are logged.

    Example:
        >>> splits = {"a.csv": ["Hello", "WIN NOW"], "b.csv": ["New", "Hello"]}
        >>> note_overlaps(splits, lambda name, row: f"{name}, line {row + 2}", notify=print)
        b.csv: 1 of its 2 texts is also in a.csv, such as 'Hello' (b.csv, line 3); figures on texts that were learnt ...
    """
    for (first, known), (name, others) in combinations(texts.items(), 2):
        seen = {text.strip() for text in known}
        rows = [row for row, text in enumerate(others) if text.strip() in seen]
        if rows:
            are = "is" if len(rows) == 1 else "are"
            (notify or _log.warning)(
                f"{name}: {len(rows)} of its {len(others)} texts {are} also in {first}, such as "
                f"{others[rows[0]]!r:.60} ({place(name, rows[0])}); figures on texts that were learnt "
                "are too good: take them out of one."
            )
