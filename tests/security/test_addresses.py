"""Server-side request forgery (SSRF) through addresses that users enter.

Label Studio's webhooks reach private networks (GHSA-9rjc-r7m8-5wpg); MLflow checked a webhook's name and resolved it a
second time to call it (CVE-2026-64849, DNS rebinding); Gradio took internal addresses from a configuration
(CVE-2026-28416). Each test runs for every caller of an entered address and watches the sockets, not the checks.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from hybridal.annotators.llm.chat_client import ChatClient
from hybridal.annotators.llm.llm_address import ADDRESS_VARIABLE, check_server
from hybridal.app.webhooks.address import HOSTS_VARIABLE, check_url
from hybridal.app.webhooks.post import post
from hybridal.errors import UserError

from ..app.webhooks.receiver import receiving


def call_llm(url: str) -> object:
    return ChatClient(url, "a model", sleep=lambda _: None, per_minute=1e9).ask([], {})


def save_llm(url: str) -> None:
    check_server(url, with_key=False, by_operator=False)


CALLERS: Mapping[str, Callable[[str], object]] = {"webhook": lambda url: post(url, {}, b"{}"), "llm": call_llm}
CHECKS = {**CALLERS, "llm settings": save_llm}
"""Callers, and what refuses an address before it is stored."""

LOOPBACK = [
    *(
        "127.0.0.1",
        "127.1",
        "127.8.8.8",
        "0",
        "0.0.0.0",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
    ),
    *(
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
    ),
    *("[2002:7f00:1::]", "①②⑦.0.0.1", "127。0。0。1"),
]
METADATA = [
    *("169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:169.254.169.254]"),
    *("[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "192.0.0.192", "[64:ff9b::a9fe:a9fe]"),
]
NETWORK = [
    *("10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.1.1", "100.64.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "[fc00::1]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[ff02::1]"),
]
NAMES = {
    "localhost": "127.0.0.1",
    "LOCALHOST.": "127.0.0.1",
    "127.0.0.1.nip.io": "127.0.0.1",
    "metadata.google.internal": "169.254.169.254",
    "six.example.org": "::1",
    "zone.example.org": "fe80::1%2",
}

Answers = list[tuple[Any, ...]]


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts to which a connection was opened; none answers."""
    for variable in (HOSTS_VARIABLE, ADDRESS_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    hosts: list[str] = []

    def refuse(address: tuple[str, int], *_: Any, **__: Any) -> None:
        hosts.append(address[0])
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    return hosts


def resolves(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """DNS gives one answer after the other, then the last again and again."""
    left = [*answers]

    def look_up(host: object, port: int, *_: Any, **__: Any) -> Answers:
        address = left.pop(0) if len(left) > 1 else left[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.parametrize("caller", CHECKS)
@pytest.mark.parametrize("host", LOOPBACK + METADATA + NETWORK)
def test_an_internal_address_is_not_called_in_any_notation(caller: str, host: str, connected: list[str]) -> None:
    with pytest.raises(UserError):
        CHECKS[caller](f"http://{host}/v1")
    assert connected == []


@pytest.mark.parametrize("caller", CHECKS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leads_inside_is_not_called(
    caller: str, name: str, connected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves(monkeypatch, NAMES[name])
    with pytest.raises(UserError):
        CHECKS[caller](f"https://{name}/v1")
    assert connected == []


@pytest.mark.parametrize("caller", CALLERS)
def test_a_name_that_changes_its_answer_is_called_where_it_was_checked(
    caller: str, connected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the first answer passes the check, the second is the metadata server."""
    resolves(monkeypatch, "93.184.215.14", "169.254.169.254")
    with pytest.raises(UserError):  # the address outside does not answer
        CALLERS[caller]("https://rebinding.example.org/v1")
    assert {*connected} <= {"93.184.215.14"}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(caller: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOSTS_VARIABLE, "127.0.0.1")
    opened: list[tuple[str, int]] = []
    real = socket.create_connection

    def watched(address: tuple[str, int], *rest: Any, **more: Any) -> socket.socket:
        opened.append(address)
        return real(address, *rest, **more)

    monkeypatch.setattr(socket, "create_connection", watched)
    with receiving() as server:
        monkeypatch.setenv(ADDRESS_VARIABLE, server.url)
        server.status = status
        with suppress(UserError):
            CALLERS[caller](server.url)
        assert (len(opened), len(server.got)) == (1, 1)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://public.example@127.0.0.1/",
            "http://127.0.0.1#@public.example/",
            "http://public.example\\@127.0.0.1/",
        ),
        *("http://127.0.0.1\t/", "http://127.0.0.1 .public.example/", "//127.0.0.1/", "http:127.0.0.1", "http:///x"),
        *("file:///etc/passwd", "gopher://127.0.0.1:25/", "ftp://127.0.0.1/", "jar:http://127.0.0.1!/", "dict://x:1"),
        *("http://public.example/\r\nHost: 127.0.0.1", "http://[::1", "http://public.example:0x50/"),
    ],
)
def test_an_address_that_parsers_read_differently_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="is not an address that can be called"):
        check_url(url)
