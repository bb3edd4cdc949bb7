"""Refuse values that are not one text, one label or one id: collections, bytes, infinite numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

ONE_LABEL = "each text has exactly one label here; give one."
ONE_TEXT = "pairs of texts are not supported; join each pair to one text."


def is_several(value: Any) -> bool:
    """Return whether a value is a collection instead of a single value.

    >>> is_several(["sport", "food"]), is_several(("a", "b")), is_several("sport"), is_several(None)
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, list | tuple | set | frozenset | dict)


def why_unusable(value: Any) -> str:
    """Return what is wrong with a value that cannot be a text, a label or an id, or "".

    >>> why_unusable(b"spam"), why_unusable(float("inf")), why_unusable("spam")
    ('; decode bytes to text', ', not a finite number; correct it', '')
    """
    if isinstance(value, bytes | bytearray):
        return "; decode bytes to text"
    infinite = isinstance(value, float | np.floating | Decimal) and math.isinf(value)
    return ", not a finite number; correct it" if infinite else ""
