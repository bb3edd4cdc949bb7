"""Where the LLM's server is, and how it may fail. Nothing here needs more than the app itself."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from hybridal.errors import UserError

ADDRESS_VARIABLE = "HYBRIDAL_LLM_URL"
"""Where it is set, no other server is asked, and the key goes nowhere else, whatever an owner enters."""

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
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    # urlsplit forgives blanks and line ends; whoever sends the request later does not.
    plain = base_url.isprintable() and " " not in base_url and "@" not in base_url
    if not host or not plain or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise UserError(f"'{base_url:.100}' is not a server's address; write it like https://host/v1.")
    if with_key and parts.scheme == "http" and host not in _HERE:
        raise UserError(f"'{base_url:.100}' would show your key to the network; use https.")
    allowed = os.environ.get(ADDRESS_VARIABLE, "").strip().rstrip("/")
    if allowed and base_url.rstrip("/") != allowed:
        raise UserError(f"Whoever started the app allows one LLM server alone: {allowed}.")
    return base_url.rstrip("/")
