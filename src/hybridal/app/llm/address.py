"""Where the LLM's server is, and how it may fail. Nothing here needs more than the app itself."""

from __future__ import annotations

from urllib.parse import urlsplit

from hybridal.errors import UserError

_HERE = {"localhost", "127.0.0.1", "::1"}


class UnavailableError(UserError):
    """The server did not answer for now; asking later may help."""


class RefusedError(UserError):
    """The server does not take this one question: too long for it, or against its rules."""


def check_address(base_url: str, with_key: bool) -> str:
    """The address without a slash at its end, if it is one, and one to which a key may go.

    >>> check_address("http://localhost:8000/v1/", True)
    'http://localhost:8000/v1'
    """
    try:
        parts = urlsplit(base_url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.username or parts.query or parts.fragment:
        raise UserError(f"'{base_url:.100}' is not a server's address; write it like https://host/v1.")
    if with_key and parts.scheme == "http" and host not in _HERE:
        raise UserError(f"'{base_url:.100}' would show your key to the network; use https.")
    return base_url.rstrip("/")
