"""Send conversations to a chat server, with retries and back-off, a rate limit, and limits of time and size."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hybridal.annotators.llm.llm_address import NO_ADDRESS, allowed_address, check_address, public_addresses
from hybridal.annotators.llm.prompt import ANSWER_TOKENS, Message, Reply, read_reply
from hybridal.errors import UserError
from hybridal.system.outgoing import UnknownHostError

if TYPE_CHECKING:
    import httpx


class UnavailableError(UserError):
    """The server did not answer; a later request may succeed."""


class RefusedError(UserError):
    """The server refuses this request, for example because the text is too long or against its rules."""


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
            raise UserError("To use a language model, install `hybridal[llm]` and start again.") from error
        try:
            httpx.URL(self._url)
        except httpx.InvalidURL as error:
            raise UserError(NO_ADDRESS.format(base_url)) from error
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
        *others, last = public_addresses(self._url)
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
                f"The LLM server {self._host} rejected the key (status {status}); set HYBRIDAL_LLM_KEY and start again."
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
