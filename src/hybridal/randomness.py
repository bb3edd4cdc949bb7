"""One random generator per (seed, purpose, round), so that no draw depends on how many were made before it."""

from __future__ import annotations

import hashlib
from numbers import Integral
from typing import Any

import numpy as np

from hybridal.errors import UserError


def check_seed(seed: Any, name: str) -> None:
    """Refuse a seed that is not a whole number: 1 and 1.0 would draw differently.

    Args:
        seed: The seed, an int or a NumPy integer.
        name: The argument that it was given as.

    Raises:
        UserError: It is of another type.

    Example:
        >>> check_seed(1.5, "seed")
        Traceback (most recent call last):
        hybridal.errors.UserError: `seed` must be a whole number, not 1.5; give one, such as 42.
    """
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise UserError(f"`{name}` must be a whole number, not {seed!r:.40}; give one, such as 42.", field=name)


def key(seed: int, purpose: str, round: int = 0) -> int:
    """Return a 63-bit seed for one purpose in one round.

    >>> key(42, "shuffle", 3) == key(42, "shuffle", 3), key(42, "shuffle", 3) == key(42, "shuffle", 4)
    (True, False)
    """
    digest = hashlib.sha256(f"{seed}|{purpose}|{round}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def stream(seed: int, purpose: str, round: int = 0) -> np.random.Generator:
    """Return the generator for one purpose in one round.

    >>> int(stream(42, "candidates", 1).integers(1000)) == int(stream(42, "candidates", 1).integers(1000))
    True
    """
    return np.random.Generator(np.random.PCG64(key(seed, purpose, round)))
