"""Refuse what tasks do not support yet: several labels per text, and pairs of texts."""

from __future__ import annotations

from typing import Any

import numpy as np

ONE_LABEL = "several labels per text come in a later version; give each text one."
ONE_TEXT = "pairs of texts are not supported; join each pair to one text."


def is_several(value: Any) -> bool:
    """Return whether a value is a collection instead of a single value.

    >>> is_several(["sport", "food"]), is_several(("a", "b")), is_several("sport"), is_several(None)
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, list | tuple | set | frozenset | dict)
