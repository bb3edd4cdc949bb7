"""One random generator per (seed, purpose, round), so that no draw depends on how many were made before it."""

from __future__ import annotations

import hashlib

import numpy as np


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
