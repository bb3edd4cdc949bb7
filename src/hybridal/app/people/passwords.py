"""Passwords are kept as argon2 hashes."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from hybridal.errors import UserError

SHORTEST, LONGEST = 8, 200

_hasher = PasswordHasher()


def hashed(password: str) -> str:
    """What is kept of a password that is long enough."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise UserError(f"A password needs {SHORTEST} to {LONGEST} characters.")
    return _hasher.hash(password)


def fits(password: str, kept: str | None) -> bool:
    """Whether it is the password; as slow for somebody who has none, or does not exist, so that nobody can tell."""
    try:
        return _hasher.verify(kept or _nobodys(), password) and kept is not None
    except VerificationError:
        return False


@cache
def _nobodys() -> str:
    return _hasher.hash("nobody's password")
