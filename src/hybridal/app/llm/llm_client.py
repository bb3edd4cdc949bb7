"""Ask a chat server for the label of a text, with retries and back-off, a rate limit, and a token budget."""

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
    TOKENS_PER_BYTE,
    Instructions,
    LlmLabel,
    Message,
    Reply,
    parse_label,
    read_reply,
    with_retry_request,
)
from hybridal.app.outgoing import UnknownHostError, find_addresses, is_web_address
from hybridal.errors import UserError

if TYPE_CHECKING:
    import httpx

ADDRESS_VARIABLE = "HYBRIDAL_LLM_URL"
"""Environment variable with the only address that the app's operator allows to be called and to receive the key."""

_NO_ADDRESS = "'{:.100}' is not a server's address; write it like https://host/v1."
_HERE = {"localhost", "127.0.0.1", "::1"}


class UnavailableError(UserError):
    """The server did not answer; a later request may succeed."""


class RefusedError(UserError):
    """The server refuses this request, for example because the text is too long or against its rules."""


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
        raise UserError(_NO_ADDRESS.format(base_url))
    if with_key and parts.scheme == "http" and parts.hostname not in _HERE:
        raise UserError(f"'{base_url:.100}' would expose your key on the network; use https.")
    allowed = allowed_address()
    if allowed and base_url.rstrip("/") != allowed:
        raise UserError(f"Only one LLM server is allowed here: {allowed}.")
    if with_key and not allowed:
        raise UserError(
            f"There is a key, but no address that it may be sent to; set {ADDRESS_VARIABLE} to the server's address "
            "and start the app again."
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
        hybridal.errors.UserError: 10.0.0.1 is in the app's own network; who runs the app can allow it in ...
    """
    check_address(base_url, with_key)
    if not by_operator and not allowed_address():
        with suppress(UnknownHostError):  # it may resolve later; each call checks again
            _public_addresses(base_url)


def _public_addresses(url: str) -> list[str]:
    parts = urlsplit(url)
    return find_addresses(
        parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), "", ADDRESS_VARIABLE
    )


_MAX_DELAY = 60.0
_MAX_RETRY_AFTER = 300.0


def retry_delay(attempt: int, retry_after: str | None, rng: random.Random) -> float:
    """Seconds to wait after failed attempt 1, 2, …: exponential back-off with jitter, or Retry-After if it is longer.

    >>> retry_delay(1, "7", random.Random(0)), 1 <= retry_delay(2, None, random.Random(0)) <= 2
    (7.0, True)
    """
    backoff = min(_MAX_DELAY, 2.0 ** (attempt - 1)) * rng.uniform(0.5, 1)
    return max(backoff, min(_MAX_RETRY_AFTER, _seconds(retry_after)))


def _seconds(retry_after: str | None) -> float:
    """Parse a Retry-After header, which is a number of seconds or a date."""
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


class Throttle:
    """Spreads requests evenly, at most `per_minute`; threads wait for their turn."""

    def __init__(self, per_minute: float, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._gap = 60 / per_minute
        self._clock = clock
        self._sleep = sleep
        self._next = clock()
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Block until the next request may be sent."""
        with self._lock:
            now = self._clock()
            mine = max(now, self._next)
            self._next = mine + self._gap
        if mine > now:
            self._sleep(mine - now)


MAX_ATTEMPTS = 6
_LARGEST_REPLY = 4_000_000  # bytes


class ChatClient:
    """A client for one model on one server. The key is sent as a bearer token and never shown.

    Only public internet addresses are called, unless the operator set the address in the environment or is the owner
    who entered it (`by_operator`). `on_retry` receives the reason of each failed attempt except the last.
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
        on_retry: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.model = model
        self._url = check_address(base_url, bool(key)) + "/chat/completions"
        self._public_only = not by_operator and not allowed_address()
        self._timeout = timeout
        self._sleep = sleep
        self._clock = clock
        self._on_retry = on_retry
        self._rng = random.Random()
        self._throttle = Throttle(per_minute, clock, sleep)
        # Parameters that some servers reject. A rejected one is omitted, also from later requests if that helped.
        self._extras: tuple[str, ...] = ("logprobs", "response_format", "temperature", "max_tokens")
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise UserError("To use a language model, install `hybridal[llm]` and start the app again.") from error
        try:
            httpx.URL(self._url)
        except httpx.InvalidURL as error:
            raise UserError(_NO_ADDRESS.format(base_url)) from error
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(self, messages: list[Message], answer_format: dict[str, Any], answer_tokens: int = ANSWER_TOKENS) -> Reply:
        """Return the model's reply of at most `answer_tokens` tokens.

        Raises:
            UnavailableError: All attempts failed.
            UserError: The server rejected the request, so that a retry cannot help.
        """
        import httpx

        extras, attempt = self._extras, 1
        values = {"logprobs": True, "response_format": answer_format, "temperature": 0, "max_tokens": answer_tokens}
        while True:
            self._throttle.wait()
            parameters = {name: values[name] for name in extras}
            problem, retry_after = "", None
            try:
                status, headers, body = self._post({"model": self.model, "messages": messages, **parameters})
            except httpx.TimeoutException:
                problem = f"no answer within {self._timeout:g} seconds"
            except (httpx.ConnectError, UnknownHostError):
                problem = "no connection"
            except httpx.TransportError:
                problem = "the connection was lost"
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
            if attempt == MAX_ATTEMPTS:
                raise UnavailableError(
                    f"The LLM server {self._host} failed {MAX_ATTEMPTS} times; the last error was: {problem}."
                )
            self._on_retry(f"The LLM server {self._host} failed ({problem}); retrying.")
            self._sleep(retry_delay(attempt, retry_after, self._rng))
            attempt += 1

    @property
    def _host(self) -> str:
        return urlsplit(self._url).netloc

    def _post(self, body: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        import httpx

        url = httpx.URL(self._url)
        if not self._public_only:
            return self._post_to(url, body)
        *others, last = _public_addresses(self._url)
        for address in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return self._post_to(url, body, address)
        return self._post_to(url, body, last)

    def _post_to(self, url: httpx.URL, body: dict[str, Any], address: str = "") -> tuple[int, httpx.Headers, bytes]:
        """Post to a URL; with an IP `address`, connect there and use the host for the header and the certificate."""
        import httpx

        started, parts, size = self._clock(), [], 0
        pinned: dict[str, Any] = {}
        if address:
            pinned = {"headers": {"Host": self._host}, "extensions": {"sni_hostname": url.host}}
            url = url.copy_with(host=address)
        with self._http.stream("POST", url, json=body, **pinned) as response:
            # Limit time and size: a very slow or endless response must not block the worker.
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > _LARGEST_REPLY or self._clock() - started > self._timeout:
                    raise httpx.ReadTimeout("too long")
        return response.status_code, response.headers, b"".join(parts)

    def _refusal(self, status: int) -> UserError:
        """An error that names only the status: the body may come from a server that the owner must not read."""
        if status in (401, 403):
            return UserError(
                f"The LLM server {self._host} rejected the key (status {status}); "
                "set HYBRIDAL_LLM_KEY and start the app again."
            )
        rejected = f"The LLM server {self._host} rejected the request for '{self.model}' (status {status})"
        if status in (400, 413, 422):
            return RefusedError(f"{rejected}; the text may be too long or against its rules.")
        return UserError(f"{rejected}; check the address, the model's name and the server's log.")


def _fewer(extras: tuple[str, ...], error: bytes) -> tuple[str, ...]:
    """Remove the parameter that the error message names, else the first one."""
    rejected = next((name for name in extras if name.encode() in error), extras[0])
    return tuple(name for name in extras if name != rejected)


def _read(body: bytes) -> Reply | None:
    try:
        return read_reply(json.loads(body))
    except (ValueError, RecursionError):
        return None


class Budget:
    """A budget of `limit` tokens, of which `spent` are used. Threads reserve the expected cost before each request.

    >>> budget, messages = Budget(700, spent=100), [{"role": "user", "content": "x" * 100}]
    >>> budget.reserve(messages), budget.reserve(messages) is None
    (350, True)
    >>> budget.pay(350, messages, tokens=40), budget.spent, budget.reserve(messages)
    (40, 140, 340)
    """

    def __init__(self, limit: int, spent: int = 0) -> None:
        self.limit = limit
        self.spent = spent
        self._reserved = 0
        self._rate: float | None = None  # tokens per byte of a request
        self._lock = threading.Lock()

    def reserve(self, messages: Sequence[Message], answer_tokens: int = ANSWER_TOKENS) -> int | None:
        """Reserve the cost of a request with the longest answer; return None if it could exceed the limit."""
        # Later the highest rate that the server has reported is used.
        rate = TOKENS_PER_BYTE if self._rate is None else self._rate
        tokens = math.ceil(_size(messages) * rate) + answer_tokens
        with self._lock:
            if self.spent + self._reserved + tokens > self.limit:
                return None
            self._reserved += tokens
        return tokens

    def pay(self, reserved: int, messages: Sequence[Message], tokens: int | None) -> int:
        """Record the cost of a request; if the server reports no `tokens`, the reserved amount."""
        cost = reserved if tokens is None else tokens
        with self._lock:
            self._reserved -= reserved
            self.spent += cost
            if tokens is not None:
                self._rate = max(self._rate or 0, tokens / _size(messages))
        return cost

    def release(self, reserved: int) -> None:
        """Release a reservation of which nothing was spent."""
        with self._lock:
            self._reserved -= reserved


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message["content"].encode()) for message in messages)


class ChatModel(Protocol):
    """A model that replies to a conversation."""

    def ask(self, messages: list[Message], answer_format: dict[str, Any], answer_tokens: int) -> Reply: ...


@dataclass(frozen=True)
class LlmResult:
    """The outcome of asking about one text.

    Attributes:
        label: The label, or None if no answer could be used.
        tokens: The tokens spent.
        refused: Why the server refused the text, or an empty text.
        raw_reply: The last answer if it could not be used.
    """

    label: LlmLabel | None
    tokens: int
    refused: str = ""
    raw_reply: str = ""


def ask_label(client: ChatModel, instructions: Instructions, budget: Budget, text: str) -> LlmResult | None:
    """Ask for the label of a text, a second time if the answer cannot be used; None if the budget is too small."""
    messages, tokens, raw_reply = instructions.messages(text), 0, ""
    for attempt in range(2):
        reserved = budget.reserve(messages, instructions.answer_tokens)
        if reserved is None:
            return None if attempt == 0 else LlmResult(None, tokens, raw_reply=raw_reply)
        try:
            reply = client.ask(messages, instructions.answer_format(), instructions.answer_tokens)
        except RefusedError as error:
            budget.release(reserved)
            return LlmResult(None, tokens, str(error))
        except BaseException:
            budget.release(reserved)
            raise
        tokens += budget.pay(reserved, messages, reply.tokens)
        if label := parse_label(reply, instructions.names, instructions.several):
            return LlmResult(label, tokens)
        messages, raw_reply = with_retry_request(messages, instructions.several), reply.content
    return LlmResult(None, tokens, raw_reply=raw_reply)
