"""The beginning of a text, for lists: the whole of it is one click away."""

from __future__ import annotations

LENGTH = 500


def excerpt(body: str) -> str:
    """A text that is not too long for a list, or its beginning.

    >>> excerpt("short"), len(excerpt("x" * 1000)), excerpt("x" * 1000)[-3:]
    ('short', 502, 'x …')
    """
    return body if len(body) <= LENGTH else body[:LENGTH] + " …"
