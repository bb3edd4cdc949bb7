"""Which addresses a webhook may have: on the internet, or internal ones that the operator allows."""

from __future__ import annotations

import os
from contextlib import suppress
from urllib.parse import urlsplit

from hybridal.errors import UserError
from hybridal.sentences import Sentence
from hybridal.system import outgoing

HOSTS_VARIABLE = "HYBRIDAL_WEBHOOK_HOSTS"
"""Names, addresses and networks that may be internal, separated by commas."""


def check_url(url: str) -> str:
    """Check the form of a URL. Its host is resolved and checked at each call.

    >>> check_url("https://example.org/hook?for=labels")
    'https://example.org/hook?for=labels'
    """
    if not outgoing.is_web_address(url):
        raise UserError(
            Sentence("'{url}' is not an address that can be called; write it like https://host/path.", url=url[:100])
        )
    return url


def check_address(url: str) -> None:
    """Refuse an address that would not be called, before it is stored.

    Raises:
        UserError: As `check_url`, or the address is in the app's own network and the operator did not allow it.

    >>> check_address("http://10.0.0.1/hook")
    Traceback (most recent call last):
    hybridal.errors.UserError: 10.0.0.1 is in the app's own network; the person who runs the app can allow it in ...
    """
    parts = urlsplit(check_url(url))
    with suppress(outgoing.UnknownHostError):  # it may resolve later; each call checks again
        find_addresses(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))


def find_addresses(host: str, port: int) -> list[str]:
    """Resolve the host of a webhook to addresses that may be called; see `outgoing.find_addresses`."""
    return outgoing.find_addresses(host, port, os.environ.get(HOSTS_VARIABLE, ""), HOSTS_VARIABLE)
