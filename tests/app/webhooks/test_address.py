from __future__ import annotations

import socket
from typing import Any

import pytest

from hybridal.app.webhooks.address import HOSTS_VARIABLE, check_url, find_addresses
from hybridal.errors import UserError


def leads_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    found: list[Any] = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)


def test_a_name_that_also_leads_inside_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "93.184.215.14")
    assert find_addresses("hooks.example.org", 443) == ["93.184.215.14"]
    leads_to(monkeypatch, "93.184.215.14", "10.1.2.3")
    with pytest.raises(UserError, match=f"leads to 10.1.2.3, which is in the app's own network; .* {HOSTS_VARIABLE}"):
        find_addresses("hooks.example.org", 443)


def test_ports_of_other_servers_are_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is closed to the internet may be open to this machine, also at a public address."""
    leads_to(monkeypatch, "93.184.215.14")
    for port in (22, 25, 2375, 6379, 11211):
        with pytest.raises(UserError, match=f"Port {port} of hooks.example.org is not called, .* {HOSTS_VARIABLE}"):
            find_addresses("hooks.example.org", port)
    monkeypatch.setenv(HOSTS_VARIABLE, "hooks.example.org")
    assert find_addresses("hooks.example.org", 6379) == ["93.184.215.14"]


@pytest.mark.parametrize("allowed", ["Hooks.Example.ORG", "10.1.2.3", "x.y, 10.0.0.0/8"])
def test_operator_can_allow_internal_addresses(monkeypatch: pytest.MonkeyPatch, allowed: str) -> None:
    leads_to(monkeypatch, "10.1.2.3")
    monkeypatch.setenv(HOSTS_VARIABLE, allowed)
    assert find_addresses("hooks.example.org", 443) == ["10.1.2.3"]
    leads_to(monkeypatch, "192.168.0.1")
    if "/" in allowed or allowed[0] == "1":
        with pytest.raises(UserError):
            find_addresses("hooks.example.org", 443)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org", "ftp://example.org", "http://", "https://me:pw@example.org", "https://a b"),
        *("https://x:99999/", "https://example.org/#part", "https://example.org/\r\nHost: x", "https://[::1"),
        "https://" + "a" * 64 + ".org",
    ],
)
def test_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="is not an address that can be called"):
        check_url(url)
