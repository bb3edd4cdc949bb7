"""Words as the database keeps them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from sqlalchemy import Dialect, String
from sqlalchemy.types import TypeDecorator


class Words(TypeDecorator[str]):
    """Any text. PostgreSQL cannot keep U+0000, so in both databases it becomes the replacement character."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else clean(value)


def clean(words: str) -> str:
    """The words as the database keeps them.

    >>> clean("a\\0b")
    'a\ufffdb'
    """
    return words.replace("\0", "\ufffd")


def digest(words: str) -> str:
    """What a text is found by: an index of the words themselves would be as large as they are."""
    return sha256(clean(words).encode()).hexdigest()[:32]


def digest_of_body(context: Any) -> str:
    """That of a text which is being added."""
    return digest(context.get_current_parameters()["body"])
