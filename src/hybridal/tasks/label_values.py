"""Labels and ids as values: their text, and whether they are missing."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np


def as_type(kind: type, text: str) -> Any:
    """Convert an id or a label back from text.

    >>> as_type(int, "7"), as_type(bool, "False")
    (7, False)
    """
    return text == "True" if kind is bool else kind(text)


def label_text(value: Any) -> str:
    """Convert an id or a label to text. 1.0 becomes "1": a column of integers with missing values holds floats.

    NumPy floats are written as Python floats.

    >>> label_text(7), label_text(np.float64(1)), label_text("a")
    ('7', '1', 'a')
    >>> label_text(np.float32(0.1)) == label_text(float(np.float32(0.1)))
    True
    """
    value = to_python_scalar(value)
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else str(float(value))
    return str(value)


def to_python_scalar(value: Any) -> Any:
    """Return the value of a str or number enumeration member; return other values unchanged.

    >>> class Kind(str, Enum):
    ...     HAM = "ham"
    >>> to_python_scalar(Kind.HAM), to_python_scalar(7)
    ('ham', 7)
    """
    return value.value if isinstance(value, Enum) and isinstance(value, str | int | float) else value


def is_missing(value: Any) -> bool:
    """Return whether a value of a data frame is missing: None, NaN, NaT or NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | Decimal) and bool(value != value)
