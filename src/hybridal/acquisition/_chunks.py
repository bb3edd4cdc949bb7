"""Walks many rows in pieces, so that what is computed of them fits into little memory."""

from __future__ import annotations

from collections.abc import Iterator

NUMBERS = 2**18  # held at a time: 2 MiB in double precision, which a core's own cache can hold


def chunks(count: int, per_row: int) -> Iterator[slice]:
    """Slices that cover `count` rows, each of as many rows as keep `per_row` numbers within the limit.

    >>> list(chunks(5, NUMBERS // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, NUMBERS // max(1, per_row))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
