"""Where a webhook may lead: a server outside, or one inside that the app's operator has named."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from hybridal.app import outgoing
from hybridal.errors import UserError

HOSTS_VARIABLE = "HYBRIDAL_WEBHOOK_HOSTS"
"""Names, addresses and networks that may be inside, with commas between them."""

LONGEST_URL = 1000


def check_url(url: str) -> str:
    """An address to which something can be posted. Where it leads is looked up each time that it is called.

    >>> check_url("https://example.org/hook?for=labels")
    'https://example.org/hook?for=labels'
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        _ = parts.port
    except ValueError:
        host = b""
    plain = url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc if host else False
    if not plain or parts.scheme not in ("http", "https") or parts.fragment or len(url) > LONGEST_URL:
        raise UserError(f"'{url:.100}' is not an address that can be called; write it like https://host/path.")
    return url


def find_addresses(host: str, port: int) -> list[str]:
    """Resolve the host of a webhook to addresses that may be called; see `outgoing.find_addresses`."""
    return outgoing.find_addresses(host, port, os.environ.get(HOSTS_VARIABLE, ""), HOSTS_VARIABLE)
