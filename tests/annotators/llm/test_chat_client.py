from __future__ import annotations

import random
import re
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.annotators.llm.chat_client import (
    MAX_ATTEMPTS,
    ChatClient,
    RefusedError,
    Throttle,
    UnavailableError,
    retry_delay,
)
from hybridal.annotators.llm.llm_address import check_address
from hybridal.annotators.llm.prompt import Instructions
from hybridal.errors import UserError

from ...helpers.chat_server import ChatServer, Json, Sends, chat_server, in_turn, labels, says


@pytest.mark.parametrize(
    "address",
    [
        *("", "localhost:8000", "ftp://host/v1", "http://", "http://[x", "http://host:99999/v1", "http://host:x/v1"),
        *(
            "https://me:pw@host/v1",
            "https://:pw@host/v1",
            "http://my host/v1",
            "http://host/v1\r\nX: y",
            "http://host/\0",
        ),
    ],
)
def test_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="not a server's address"):
        check_address(address, False)


def test_operator_can_allow_a_single_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDAL_LLM_URL", "https://llm.example.org/v1/ ")
    assert check_address("https://llm.example.org/v1", True) == "https://llm.example.org/v1"
    with pytest.raises(UserError, match="one LLM server is allowed here: https://llm"):
        check_address("https://other.example.org/v1", False)


def test_a_key_goes_nowhere_in_the_clear() -> None:
    with pytest.raises(UserError, match="use https"):
        check_address("http://llm.example.org/v1", True)
    assert check_address("http://llm.example.org/v1", False)


def test_a_key_goes_only_where_the_operator_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    with pytest.raises(UserError, match="There is a key, but no address that it may be sent to; set HYBRIDAL_LLM_URL"):
        check_address("https://llm.example.org/v1", True)
    monkeypatch.setenv("HYBRIDAL_LLM_URL", "https://llm.example.org/v1")
    assert check_address("https://llm.example.org/v1/", True) == "https://llm.example.org/v1"


@given(st.integers(1, 40), st.integers())
def test_pauses_double_up_to_a_minute_and_are_shaken(attempt: int, seed: int) -> None:
    whole = min(60, 2 ** (attempt - 1))
    assert whole / 2 <= retry_delay(attempt, None, random.Random(seed)) <= whole


def test_a_date_is_waited_for() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100))
    assert 95 < retry_delay(1, soon, random.Random(0)) <= 100
    assert retry_delay(1, format_datetime(datetime.now(UTC) - timedelta(days=1)), random.Random(0)) <= 1


@pytest.mark.parametrize("nonsense", ["", "soon", "-5", "nan", "Mon, 99 Foo 2020"])
def test_nonsense_is_as_good_as_nothing(nonsense: str) -> None:
    assert 0.5 <= retry_delay(1, nonsense, random.Random(0)) <= 1


def test_slow_server_hits_the_time_limit() -> None:
    assert retry_delay(1, "1e9", random.Random(0)) == 300
    assert retry_delay(1, "inf", random.Random(0)) == 300


def test_questions_are_spread_over_the_minute() -> None:
    time, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time[0] += seconds

    pace = Throttle(30, lambda: time[0], sleep)
    for _ in range(4):
        pace.wait()
    assert slept == [2, 2, 2]
    time[0] += 60
    pace.wait()
    assert len(slept) == 3


RULES = Instructions((("bug", ""), ("idea", "")))
MESSAGES = RULES.messages("It crashes.")


def client_of(server: ChatServer, key: str = "", **options: Any) -> ChatClient:
    """One that may call this machine."""
    with pytest.MonkeyPatch.context() as patch:
        if key:
            patch.setenv("HYBRIDAL_LLM_URL", server.url)
        return ChatClient(server.url, "small", key, by_operator=True, per_minute=1e9, **options)


def ask(server: ChatServer, slept: list[float] | None = None, key: str = "", timeout: float = 5.0) -> str:
    client = client_of(server, key, timeout=timeout, sleep=([] if slept is None else slept).append)
    try:
        return client.ask(MESSAGES, RULES.answer_format()).content
    finally:
        client.close()


def test_request_follows_the_protocol() -> None:
    with chat_server(in_turn(labels("bug"))) as server:
        assert '"bug"' in ask(server, key="secret")
    assert server.headers[0]["Authorization"] == "Bearer secret"
    assert server.asked[0]["model"] == "small"
    assert server.asked[0]["messages"] == MESSAGES
    assert server.asked[0]["response_format"] == RULES.answer_format()


def test_without_a_key_none_is_sent() -> None:
    with chat_server(in_turn(labels("bug"))) as server:
        ask(server)
    assert "Authorization" not in server.headers[0]


def test_failed_request_is_retried_with_backoff() -> None:
    slept: list[float] = []
    with chat_server(in_turn(*[Sends(b"oops", 500)] * 3, Sends(b"", 503), labels("bug"))) as server:
        assert "bug" in ask(server, slept)
    assert len(server.asked) == 5
    assert all(2**at / 2 <= pause <= 2**at for at, pause in enumerate(slept))


def test_each_retry_is_reported() -> None:
    told: list[str] = []
    with chat_server(in_turn(Sends(b"", 503), Sends(b"", 429), labels("bug"))) as server:
        client = client_of(server, sleep=lambda _: None, on_retry=told.append)
        client.ask(MESSAGES, RULES.answer_format())
        client.close()
    host = server.url.split("/")[2]
    assert told == [f"The LLM server {host} failed ({why}); retrying." for why in ("status 503", "status 429")]


def test_retry_after_is_respected() -> None:
    slept: list[float] = []
    with chat_server(in_turn(Sends(b"", 429, {"Retry-After": "17"}), labels("bug"))) as server:
        ask(server, slept)
    assert slept == [17]


@pytest.mark.parametrize(
    ("sends", "problem"),
    [
        (Sends(b"", 500), "status 500"),
        (Sends(b"", 429), "status 429"),
        (Sends(b"<html>welcome</html>"), "not from a chat server"),
        (Sends(labels("bug").body[:-20]), "not from a chat server"),
        (Sends(b'{"choices": []}'), "not from a chat server"),
        (Sends(b"[" * 100_000), "not from a chat server"),
        (Sends(never=True), "no answer within 0.05 seconds"),
    ],
    ids=["failing", "busy", "a web page", "cut off", "empty", "nested", "silent"],
)
def test_a_server_that_stays_bad_is_unavailable_for_now(sends: Sends, problem: str) -> None:
    slept: list[float] = []
    with chat_server(in_turn(sends)) as server, pytest.raises(UnavailableError, match=f"failed 6 times.*{problem}"):
        ask(server, slept, timeout=0.05 if sends.never else 5.0)
    assert (len(server.asked), len(slept)) == (MAX_ATTEMPTS, MAX_ATTEMPTS - 1)


def test_refused_connection_is_temporary() -> None:
    with chat_server(in_turn(labels("bug"))) as server:
        pass
    with pytest.raises(UnavailableError, match=r"the last error was: no connection\.$"):
        ask(server)


def test_a_slowly_dripping_response_times_out() -> None:
    ticks = count()
    with chat_server(in_turn(Sends(labels("bug").body, drips=True))) as server:
        client = client_of(server, timeout=5, sleep=lambda _: None, clock=lambda: next(ticks) * 10)
        with pytest.raises(UnavailableError, match="no answer within 5 seconds"):
            client.ask(MESSAGES, {})
        client.close()


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    with chat_server(in_turn(Sends(b" " * 5_000_000))) as server, pytest.raises(UnavailableError):
        ask(server)


def test_wrong_key_fails_at_once_and_is_not_shown() -> None:
    with chat_server(in_turn(Sends(b"the key secret is wrong", 401))) as server, pytest.raises(UserError) as caught:
        ask(server, key="secret")
    assert "HYBRIDAL_LLM_KEY" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [302, 400, 401, 404, 413, 422])
def test_error_contains_nothing_of_the_response(status: int) -> None:
    """It may be an internal server whose response the owner must not see."""
    reply = in_turn(Sends(b'{"instance-id": "i-0abc"} for secret', status))
    with chat_server(reply) as server, pytest.raises(UserError, match=f"status {status}") as caught:
        ask(server, key="secret")
    assert not {"instance-id", "i-0abc", "secret"} & set(re.findall(r"[\w-]+", str(caught.value)))
    assert isinstance(caught.value, RefusedError) == (status in (400, 413, 422))


def picky(*unknown: str, names_it: bool) -> Callable[[Json], Sends]:
    def reply(body: Json) -> Sends:
        wrong = [name for name in unknown if name in body]
        complaint = f"Unsupported parameter: {wrong}" if names_it else "Bad request"
        return Sends(complaint.encode(), 400) if wrong else labels("bug")

    return reply


@pytest.mark.parametrize("names_it", [True, False])
def test_unsupported_options_are_left_out_afterwards(names_it: bool) -> None:
    with chat_server(picky("response_format", "logprobs", names_it=names_it)) as server:
        client = client_of(server, sleep=lambda _: None)
        client.ask(MESSAGES, RULES.answer_format())
        client.ask(MESSAGES, RULES.answer_format())
        client.close()
    assert len(server.asked) == 4
    assert server.asked[-1] == server.asked[-2]
    assert server.asked[-1]["max_tokens"] > 0


def test_only_the_parameter_named_in_the_error_is_left_out() -> None:
    with chat_server(picky("max_tokens", names_it=True)) as server:
        ask(server)
    assert len(server.asked) == 2
    assert {"logprobs", "response_format", "temperature"} <= set(server.asked[-1])


def test_a_question_that_is_refused_in_any_form_takes_nothing_away_from_the_next() -> None:
    refuses = Sends(b"too long", 400)
    with chat_server(in_turn(*[refuses] * 5, labels("bug"))) as server:
        client = client_of(server, sleep=lambda _: None)
        with pytest.raises(RefusedError, match="status 400"):
            client.ask(MESSAGES, RULES.answer_format())
        client.ask(MESSAGES, RULES.answer_format())
        client.close()
    assert "response_format" in server.asked[-1]


def test_a_key_does_not_follow_a_redirect() -> None:
    with (
        chat_server(in_turn(labels("bug"))) as other,
        chat_server(in_turn(Sends(b"", 307, {"Location": f"{other.url}/chat/completions"}))) as server,
        pytest.raises(UserError, match="status 307"),
    ):
        ask(server, key="secret")
    assert other.asked == []


def test_the_tokens_that_were_paid_for_are_read() -> None:
    with chat_server(in_turn(says("hello", tokens=123))) as server:
        client = client_of(server)
        assert client.ask(MESSAGES, {}).tokens == 123
        client.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"])
def test_an_owner_cannot_have_the_apps_own_network_called(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    with chat_server(in_turn(labels("bug"))) as server:
        client = ChatClient(server.url.replace("127.0.0.1", host), "small", per_minute=1e9)
        with pytest.raises(UserError, match=r"in the app's own network; .* HYBRIDAL_LLM_URL"):
            client.ask(MESSAGES, {})
        client.close()
    assert server.asked == []


@pytest.mark.parametrize("host", ["0177.0.0.1", "0251.0376.0251.0376"])
def test_unparsable_address_gets_one_sentence(host: str) -> None:
    with pytest.raises(UserError, match="is not a server's address"):
        ChatClient(f"http://{host}/v1", "small")


def test_allowed_host_is_called_on_any_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server(in_turn(labels("bug"))) as server:
        monkeypatch.setenv("HYBRIDAL_LLM_URL", server.url)
        client = ChatClient(server.url, "small", "secret", per_minute=1e9)
        client.ask(MESSAGES, {})
        client.close()
    assert server.headers[0]["Authorization"] == "Bearer secret"


def test_the_address_that_was_checked_is_the_one_that_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is resolved once per call, because a second lookup may differ; its other addresses are tried."""
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    resolved: list[str] = []

    def addresses(host: str, port: int, allowed: str, variable: str) -> list[str]:
        resolved.append(host)
        return ["127.0.0.9", "127.0.0.1"]  # nothing listens at the first

    def no_second_time(host: str, *rest: Any, **more: Any) -> Any:
        assert host != "llm.example.org"
        return real(host, *rest, **more)

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", no_second_time)
    monkeypatch.setattr("hybridal.annotators.llm.llm_address.find_addresses", addresses)
    with chat_server(in_turn(labels("bug"))) as server:
        url = server.url.replace("127.0.0.1", "llm.example.org")
        client = ChatClient(url, "small", per_minute=1e9)
        client.ask(MESSAGES, {})
        client.close()
    assert resolved == ["llm.example.org"]
    assert server.headers[0]["Host"] == url.split("/")[2]


def test_the_certificate_is_that_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[httpx.Request] = []

    def answers(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, content=labels("bug").body)

    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    monkeypatch.setattr("hybridal.annotators.llm.llm_address.find_addresses", lambda *_: ["2606:2800:21f:cb07::1"])
    client = ChatClient("https://llm.example.org/v1", "small", per_minute=1e9)
    client._http = httpx.Client(transport=httpx.MockTransport(answers))
    client.ask(MESSAGES, {})
    client.close()
    [request] = sent
    assert str(request.url) == "https://[2606:2800:21f:cb07::1]/v1/chat/completions"
    assert (request.headers["host"], request.extensions["sni_hostname"]) == ("llm.example.org", "llm.example.org")


def test_a_name_that_is_not_known_now_may_be_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    client = ChatClient("https://llm.invalid/v1", "small", per_minute=1e9, sleep=lambda _: None)
    with pytest.raises(UnavailableError, match="no connection"):
        client.ask(MESSAGES, {})
    client.close()
