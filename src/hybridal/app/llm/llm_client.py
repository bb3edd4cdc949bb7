"""Asks a chat server for the label of a text: retries with backoff, a rate limit, and a budget of tokens."""

from __future__ import annotations

import json
import math
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from hybridal.app.llm.prompt import (
    ANSWER_TOKENS,
    Instructions,
    LlmLabel,
    Message,
    Reply,
    ask_again,
    parse_label,
    read_reply,
)
from hybridal.app.outgoing import UnknownHostError, find_addresses, is_web_address
from hybridal.errors import UserError

if TYPE_CHECKING:
    import httpx

ADDRESS_VARIABLE = "HYBRIDAL_LLM_URL"
"""The address that the app's operator allows: no other is called then, and the key is sent to no other."""

_NO_ADDRESS = "'{:.100}' is not a server's address; write it like https://host/v1."
_HERE = {"localhost", "127.0.0.1", "::1"}


class UnavailableError(UserError):
    """The server did not answer for now; asking later may help."""


class RefusedError(UserError):
    """The server does not take this one question: too long for it, or against its rules."""


def named_address() -> str:
    """The address in the environment, or an empty string."""
    return os.environ.get(ADDRESS_VARIABLE, "").strip().rstrip("/")


def check_address(base_url: str, with_key: bool) -> str:
    """Check how an address is written, and whether the operator allows it; where it leads is checked at each call.

    Args:
        base_url: What an owner entered.
        with_key: Whether there is a key to be sent along. It needs an address from the operator: an owner of a project,
            or a project folder from elsewhere, could have it sent anywhere.

    Returns:
        The address without a slash at its end.

    Raises:
        UserError: It is no address, or not the operator's, or would expose the key.

    Example:
        >>> check_address("http://localhost:8000/v1/", False)
        'http://localhost:8000/v1'
    """
    parts = urlsplit(base_url) if is_web_address(base_url) else None
    if parts is None or parts.query:
        raise UserError(_NO_ADDRESS.format(base_url))
    if with_key and parts.scheme == "http" and parts.hostname not in _HERE:
        raise UserError(f"'{base_url:.100}' would expose your key on the network; use https.")
    named = named_address()
    if named and base_url.rstrip("/") != named:
        raise UserError(f"Only one LLM server is allowed here: {named}.")
    if with_key and not named:
        raise UserError(
            f"There is a key, but not where it may be sent; set {ADDRESS_VARIABLE} to the server's address and start "
            "the app again."
        )
    return base_url.rstrip("/")


_LONGEST = 60.0
_LONGEST_ASKED_FOR = 300.0


def retry_delay(attempt: int, retry_after: str | None, draw: random.Random) -> float:
    """Seconds to wait after the failed attempt 1, 2, …: doubling, shaken, and no less than the server asks for.

    >>> retry_delay(1, "7", random.Random(0)), 1 <= retry_delay(2, None, random.Random(0)) <= 2
    (7.0, True)
    """
    doubling = min(_LONGEST, 2.0 ** (attempt - 1)) * draw.uniform(0.5, 1)
    return max(doubling, min(_LONGEST_ASKED_FOR, _seconds(retry_after)))


def _seconds(retry_after: str | None) -> float:
    """Retry-After is a number of seconds or a date."""
    if retry_after is None:
        return 0.0
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


class RateLimit:
    """Lets no more than so many questions a minute through, evenly spread; threads queue up."""

    def __init__(self, per_minute: float, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._gap = 60 / per_minute
        self._clock = clock
        self._sleep = sleep
        self._next = clock()
        self._turn = threading.Lock()

    def wait(self) -> None:
        """Returns when the next question may be asked."""
        with self._turn:
            now = self._clock()
            mine = max(now, self._next)
            self._next = mine + self._gap
        if mine > now:
            self._sleep(mine - now)


ATTEMPTS = 6
_LARGEST = 4_000_000


class Client:
    """One server, one model. The key is sent as a bearer token and never shown.

    Only servers on the internet are called, unless the operator named the address in the environment or is the owner
    who entered it (`by_operator`). `complain` hears why an attempt failed that is not the last one.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str = "",
        *,
        by_operator: bool = False,
        timeout: float = 60.0,
        per_minute: float = 60.0,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        complain: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.model = model
        self._url = check_address(base_url, bool(key)) + "/chat/completions"
        self._guarded = not by_operator and not named_address()
        self._timeout = timeout
        self._sleep = sleep
        self._clock = clock
        self._complain = complain
        self._draw = random.Random()
        self._pace = RateLimit(per_minute, clock, sleep)
        # What some servers do not know. Where they complain it is left out, from then on if that helped.
        self._extras: tuple[str, ...] = ("logprobs", "response_format", "temperature", "max_tokens")
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise UserError("To ask an LLM, install `hybridal[llm]` and start the app again.") from error
        try:
            httpx.URL(self._url)
        except httpx.InvalidURL as error:
            raise UserError(_NO_ADDRESS.format(base_url)) from error
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def close(self) -> None:
        """Lets go of the connections."""
        self._http.close()

    def ask(self, messages: list[Message], answer_format: dict[str, Any]) -> Reply:
        """The model's reply; `UnavailableError` if the server stays busy, a `UserError` if asking again cannot help."""
        import httpx

        extras, attempt = self._extras, 1
        values = {"logprobs": True, "response_format": answer_format, "temperature": 0, "max_tokens": ANSWER_TOKENS}
        while True:
            self._pace.wait()
            wanted = {name: values[name] for name in extras}
            problem, retry_after = "", None
            try:
                status, headers, body = self._post({"model": self.model, "messages": messages, **wanted})
            except httpx.TimeoutException:
                problem = f"no answer within {self._timeout:g} seconds"
            except (httpx.ConnectError, UnknownHostError):
                problem = "no connection"
            except httpx.TransportError:
                problem = "the connection broke off"
            else:
                if status == 200 and (reply := _read(body)):
                    self._extras = extras
                    return reply
                if status in (400, 422) and extras:
                    extras = _fewer(extras, body)
                    continue
                if status != 200 and status not in (408, 409, 429) and status < 500:
                    raise self._refusal(status)
                problem = "a reply that is not from a chat server" if status == 200 else f"status {status}"
                retry_after = headers.get("Retry-After")
            if attempt == ATTEMPTS:
                raise UnavailableError(
                    f"The LLM server {self._host} failed {ATTEMPTS} times; the last error was: {problem}."
                )
            self._complain(f"The LLM server {self._host} failed ({problem}); retrying.")
            self._sleep(retry_delay(attempt, retry_after, self._draw))
            attempt += 1

    @property
    def _host(self) -> str:
        return urlsplit(self._url).netloc

    def _post(self, asked: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        import httpx

        url = httpx.URL(self._url)
        if not self._guarded:
            return self._post_to(url, asked)
        port = url.port or (443 if url.scheme == "https" else 80)
        *others, last = find_addresses(url.host, port, "", ADDRESS_VARIABLE)
        for address in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return self._post_to(url, asked, address)
        return self._post_to(url, asked, last)

    def _post_to(self, url: httpx.URL, asked: dict[str, Any], address: str = "") -> tuple[int, httpx.Headers, bytes]:
        """Post to the server, or to this address of it: the host then stands in the headers and in the certificate."""
        import httpx

        begun, parts, size = self._clock(), [], 0
        pinned: dict[str, Any] = {}
        if address:
            pinned = {"headers": {"Host": self._host}, "extensions": {"sni_hostname": url.host}}
            url = url.copy_with(host=address)
        with self._http.stream("POST", url, json=asked, **pinned) as response:
            # A server that sends a byte now and then, or without end, must not hold the worker for ever.
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > _LARGEST or self._clock() - begun > self._timeout:
                    raise httpx.ReadTimeout("too long")
        return response.status_code, response.headers, b"".join(parts)

    def _refusal(self, status: int) -> UserError:
        """The reason by its status alone: the body may be that of a server that the owner should not read."""
        if status in (401, 403):
            return UserError(
                f"The LLM server {self._host} rejected the key (status {status}); "
                "set HYBRIDAL_LLM_KEY and start the app again."
            )
        rejected = f"The LLM server {self._host} rejected the request for '{self.model}' (status {status})"
        if status in (400, 413, 422):
            return RefusedError(f"{rejected}; the text may be too long for it, or against its rules.")
        return UserError(f"{rejected}; check its address and the name of the model, and its log.")


def _fewer(extras: tuple[str, ...], complaint: bytes) -> tuple[str, ...]:
    """Without the one that the complaint names, else without the first."""
    named = next((name for name in extras if name.encode() in complaint), extras[0])
    return tuple(name for name in extras if name != named)


def _read(body: bytes) -> Reply | None:
    try:
        return read_reply(json.loads(body))
    except (ValueError, RecursionError):
        return None


# A careful first estimate; once the server has counted some questions, the dearest of them is the measure.
_TOKENS_PER_BYTE = 0.5


class Budget:
    """`limit` tokens in all, of which `spent` are gone. What several threads are about to spend is set aside first.

    >>> budget, asked = Budget(700, spent=100), [{"role": "user", "content": "x" * 100}]
    >>> budget.reserve(asked), budget.reserve(asked) is None
    (350, True)
    >>> budget.pay(350, asked, tokens=40), budget.spent, budget.reserve(asked)
    (40, 140, 340)
    """

    def __init__(self, limit: int, spent: int = 0) -> None:
        self.limit = limit
        self.spent = spent
        self._aside = 0
        self._rate: float | None = None
        self._turn = threading.Lock()

    def reserve(self, messages: Sequence[Message]) -> int | None:
        """Sets aside what asking this may cost, the answer at its longest; None if that could go beyond the limit."""
        rate = _TOKENS_PER_BYTE if self._rate is None else self._rate
        tokens = math.ceil(_size(messages) * rate) + ANSWER_TOKENS
        with self._turn:
            if self.spent + self._aside + tokens > self.limit:
                return None
            self._aside += tokens
        return tokens

    def pay(self, reserved: int, messages: Sequence[Message], tokens: int | None) -> int:
        """Books what a question cost: what was set aside, where the server does not say."""
        cost = reserved if tokens is None else tokens
        with self._turn:
            self._aside -= reserved
            self.spent += cost
            if tokens is not None:
                self._rate = max(self._rate or 0, tokens / _size(messages))
        return cost

    def release(self, reserved: int) -> None:
        """Nothing was spent."""
        with self._turn:
            self._aside -= reserved


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message["content"].encode()) for message in messages)


class ChatModel(Protocol):
    """Whoever replies to a conversation."""

    def ask(self, messages: list[Message], answer_format: dict[str, Any]) -> Reply: ...


@dataclass(frozen=True)
class LlmResult:
    """What came of it: `said` is None if no answer could be used, and `heard` then what it was; `refused` is why the
    server did not take the text.
    """

    said: LlmLabel | None
    tokens: int
    refused: str = ""
    heard: str = ""


def ask(client: ChatModel, instructions: Instructions, budget: Budget, text: str) -> LlmResult | None:
    """The LLM's answer to a text; None if the budget does not allow to ask."""
    messages, tokens, heard = instructions.messages(text), 0, ""
    for attempt in range(2):
        reserved = budget.reserve(messages)
        if reserved is None:
            return None if attempt == 0 else LlmResult(None, tokens, heard=heard)
        try:
            reply = client.ask(messages, instructions.answer_format())
        except RefusedError as error:
            budget.release(reserved)
            return LlmResult(None, tokens, str(error))
        except BaseException:
            budget.release(reserved)
            raise
        tokens += budget.pay(reserved, messages, reply.tokens)
        if said := parse_label(reply, instructions.names):
            return LlmResult(said, tokens)
        messages, heard = ask_again(messages), reply.content
    return LlmResult(None, tokens, heard=heard)
