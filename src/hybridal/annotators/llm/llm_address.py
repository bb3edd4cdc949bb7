"""Which language model servers may be called, and which one may receive the key."""

from __future__ import annotations

import os
from contextlib import suppress
from urllib.parse import urlsplit

from hybridal.errors import UserError
from hybridal.system.outgoing import UnknownHostError, find_addresses, is_web_address

KEY_VARIABLE = "HYBRIDAL_LLM_KEY"
"""Environment variable with the API key."""

ADDRESS_VARIABLE = "HYBRIDAL_LLM_URL"
"""Environment variable with the only address that the app's operator allows to be called and to receive the key."""

NO_ADDRESS = "'{:.100}' is not a server's address; write it like https://host/v1."
_HERE = {"localhost", "127.0.0.1", "::1"}


def api_key() -> str:
    """The API key; it is read only from the environment."""
    return os.environ.get(KEY_VARIABLE, "").strip()


def allowed_address() -> str:
    """The address in the environment, or an empty string."""
    return os.environ.get(ADDRESS_VARIABLE, "").strip().rstrip("/")


def check_address(base_url: str, with_key: bool) -> str:
    """Check the form of an address, and whether the operator allows it. Its IP address is checked at each call.

    Args:
        base_url: The address that an owner entered.
        with_key: Whether the key will be sent there. It is sent only to an address from the operator: otherwise a
            project's owner, or a project folder from elsewhere, could send it anywhere.

    Returns:
        The address without a trailing slash.

    Raises:
        UserError: The address is not valid, not the operator's, or would expose the key.

    Example:
        >>> check_address("http://localhost:8000/v1/", False)
        'http://localhost:8000/v1'
    """
    parts = urlsplit(base_url) if is_web_address(base_url) else None
    if parts is None or parts.query:
        raise UserError(NO_ADDRESS.format(base_url))
    if with_key and parts.scheme == "http" and parts.hostname not in _HERE:
        raise UserError(f"'{base_url:.100}' would expose your key on the network; use https.")
    allowed = allowed_address()
    if allowed and base_url.rstrip("/") != allowed:
        raise UserError(f"Only one LLM server is allowed here: {allowed}.")
    if with_key and not allowed:
        raise UserError(
            f"There is a key, but no address that it may be sent to; set {ADDRESS_VARIABLE} to the server's address "
            "and start again."
        )
    return base_url.rstrip("/")


def check_server(base_url: str, *, with_key: bool, by_operator: bool) -> None:
    """Refuse an address that a job could not call, before it is stored or a job starts.

    Args:
        base_url: The address that an owner entered.
        with_key: Whether the key will be sent there.
        by_operator: Whether the owner runs this process, and so may call servers in its network.

    Raises:
        UserError: As `check_address`, or the address is in the app's own network and the operator did not allow it.

    Example:
        >>> check_server("http://10.0.0.1/v1", with_key=False, by_operator=False)
        Traceback (most recent call last):
        hybridal.errors.UserError: 10.0.0.1 is in the app's own network; the person who runs the app can allow it in ...
    """
    check_address(base_url, with_key)
    if not by_operator and not allowed_address():
        with suppress(UnknownHostError):  # it may resolve later; each call checks again
            public_addresses(base_url)


def public_addresses(url: str) -> list[str]:
    parts = urlsplit(url)
    return find_addresses(
        parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), "", ADDRESS_VARIABLE
    )
