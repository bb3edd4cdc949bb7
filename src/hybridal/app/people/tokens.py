"""Secrets that are given away once; the database keeps only their hashes."""

from __future__ import annotations

from hashlib import sha256
from secrets import token_urlsafe


def draw() -> str:
    """A secret that nobody guesses."""
    return token_urlsafe(32)


def digest(token: str) -> str:
    """What is kept of it.

    >>> len(digest("secret"))
    64
    """
    return sha256(token.encode(errors="replace")).hexdigest()
