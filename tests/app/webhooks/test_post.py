from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

from hybridal.app.webhooks import post as posting
from hybridal.app.webhooks.address import HOSTS_VARIABLE, find_addresses
from hybridal.app.webhooks.post import draw_secret, headers, post
from hybridal.errors import UserError

from .receiver import Receiver, receiving


def test_the_address_that_was_checked_is_the_one_that_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second lookup may return another address: the name is resolved once per call."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def rebinding(host: str, *rest: Any, **more: Any) -> object:
        asked.append(host)
        return real("127.0.0.1", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setenv(HOSTS_VARIABLE, "hooks.example.org")
    url = receiver.url.replace("127.0.0.1", "hooks.example.org")
    assert post(url + "?a=b", {"X-A": "b"}, b"{}") == 204
    assert asked.count("hooks.example.org") == 1
    [(sent, body)] = receiver.got
    assert (sent["host"].partition(":")[0], sent["x-a"], body) == ("hooks.example.org", "b", b"{}")


def test_inside_nothing_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOSTS_VARIABLE, raising=False)
    with receiving() as server:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "127.1"):
            with pytest.raises(UserError, match="in the app's own network"):
                post(server.url.replace("127.0.0.1", host), {}, b"{}")
        assert server.got == []


def test_a_redirection_is_not_followed(receiver: Receiver) -> None:
    receiver.status = 307
    assert post(receiver.url, {}, b"{}") == 307
    assert len(receiver.got) == 1


def test_slow_response_is_cut_off(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                for sign in "HTTP/1.1 200 OK\r\nX: " + "x" * 50:
                    try:
                        connection.sendall(sign.encode())
                    except OSError:
                        return
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(UserError, match=r"No answer within 0\.3 seconds"):
            post(f"http://127.0.0.1:{server.getsockname()[1]}/", {}, b"{}")
        assert time.monotonic() - begun < 5  # all of it would take seven seconds


def test_a_name_that_is_found_too_late_is_not_called(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "SECONDS", 0.1)

    def slowly(host: str, port: int) -> list[str]:
        time.sleep(0.3)
        return find_addresses(host, port)

    monkeypatch.setattr(posting, "find_addresses", slowly)
    with pytest.raises(UserError, match=r"No answer within 0\.1 seconds"):
        post(receiver.url, {}, b"{}")
    assert receiver.got == []


def test_unreachable_host_is_named(receiver: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UserError, match=r"No answer \(Connection refused\)"):
        post(f"http://127.0.0.1:{port}/", {}, b"{}")
    with pytest.raises(UserError, match="No answer"):
        post(receiver.url.replace("http:", "https:"), {}, b"{}")


def test_a_signature_is_of_its_secret_message_and_time() -> None:
    secret = draw_secret()
    first = headers(secret, "m1", 1, b"{}")["webhook-signature"]
    for other in ((draw_secret(), "m1", 1, b"{}"), (secret, "m2", 1, b"{}"), (secret, "m1", 2, b"{}")):
        assert headers(*other)["webhook-signature"] != first
    assert headers(secret, "m1", 1, b"{ }")["webhook-signature"] != first
