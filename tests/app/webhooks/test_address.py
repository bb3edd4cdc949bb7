from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Any

import pytest

from hybridal.app.webhooks.address import HOSTS_VARIABLE, check_url, find_addresses, is_outside
from hybridal.errors import UserError

INSIDE = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.5.4", "192.168.1.1", "100.64.0.1", "255.255.255.255"),
    *("192.0.0.1", "192.0.0.9", "192.0.0.192"),
    *("169.254.169.254", "100.100.100.200", "168.63.129.16", "224.0.0.1", "240.0.0.1"),
    *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
    # Ways to write an address of the old kind as one of the new.
    *("::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
    *("64:ff9b:1::808:808", "64:ff9b:1:ffff::1", "::8.8.8.8", "::127.0.0.1"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_what_is_inside_is_known_in_every_writing(address: str) -> None:
    assert not is_outside(ip_address(address))


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "192.0.1.1", "2606:2800:21f:cb07::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_servers_of_the_internet_are_outside(address: str) -> None:
    assert is_outside(ip_address(address))


def leads_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    found: list[Any] = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)


def test_a_name_that_also_leads_inside_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "93.184.215.14")
    assert find_addresses("hooks.example.org", 443) == ["93.184.215.14"]
    leads_to(monkeypatch, "93.184.215.14", "10.1.2.3")
    with pytest.raises(UserError, match=f"leads to 10.1.2.3, which is in the app's own network; .* {HOSTS_VARIABLE}"):
        find_addresses("hooks.example.org", 443)


@pytest.mark.parametrize("allowed", ["Hooks.Example.ORG", "10.1.2.3", "x.y, 10.0.0.0/8"])
def test_who_runs_the_app_can_allow_what_is_inside(monkeypatch: pytest.MonkeyPatch, allowed: str) -> None:
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
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="is not an address that can be called"):
        check_url(url)
