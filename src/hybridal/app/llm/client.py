"""Asks a chat server: patiently where it is busy, plainly where it cannot do more, never faster than allowed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from hybridal.app.llm.address import RefusedError, UnavailableError, check_address
from hybridal.app.llm.budget import ANSWER_TOKENS
from hybridal.app.llm.prompt import Message
from hybridal.app.llm.reply import Reply, read_reply
from hybridal.app.llm.waiting import Pace, pause
from hybridal.errors import UserError

ATTEMPTS = 6
_LARGEST = 4_000_000


class Client:
    """One server, one model. The key is sent as a bearer token and shown to nobody.

    `complain` hears why an attempt failed that is not the last one.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str = "",
        *,
        timeout: float = 60.0,
        per_minute: float = 60.0,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        complain: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.model = model
        self._url = check_address(base_url, bool(key)) + "/chat/completions"
        self._key = key
        self._timeout = timeout
        self._sleep = sleep
        self._clock = clock
        self._complain = complain
        self._draw = random.Random()
        self._pace = Pace(per_minute, clock, sleep)
        # What some servers do not know. Where they complain it is left out, from then on if that helped.
        self._extras: tuple[str, ...] = ("logprobs", "response_format", "temperature", "max_tokens")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def close(self) -> None:
        """Lets go of the connections."""
        self._http.close()

    def ask(self, messages: list[Message], answer_format: dict[str, Any]) -> Reply:
        """The model's reply; `UnavailableError` if the server stays busy, a `UserError` if asking again cannot help."""
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
            except httpx.TransportError as error:
                problem = f"no connection ({type(error).__name__})"
            else:
                if status == 200 and (reply := _read(body)):
                    self._extras = extras
                    return reply
                if status in (400, 422) and extras:
                    extras = _fewer(extras, body)
                    continue
                if status != 200 and status not in (408, 409, 429) and status < 500:
                    raise self._refusal(status, body)
                problem = "something else than a chat server's answer" if status == 200 else f"status {status}"
                retry_after = headers.get("Retry-After")
            if attempt == ATTEMPTS:
                raise UnavailableError(f"The LLM server {self._host} failed {ATTEMPTS} times, at last with {problem}.")
            self._complain(f"The LLM server {self._host} failed with {problem}; it is asked again.")
            self._sleep(pause(attempt, retry_after, self._draw))
            attempt += 1

    @property
    def _host(self) -> str:
        return urlsplit(self._url).netloc

    def _post(self, asked: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        begun, parts, size = self._clock(), [], 0
        with self._http.stream("POST", self._url, json=asked) as response:
            # A server that sends a byte now and then, or without end, must not hold the worker for ever.
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > _LARGEST or self._clock() - begun > self._timeout:
                    raise httpx.ReadTimeout("too long")
        return response.status_code, response.headers, b"".join(parts)

    def _refusal(self, status: int, body: bytes) -> UserError:
        if status in (401, 403):
            return UserError(
                f"The LLM server {self._host} refuses the key (status {status}); "
                "set HYBRIDAL_LLM_KEY and start the app again."
            )
        said = " ".join(body.decode(errors="replace").split())
        if self._key:
            said = said.replace(self._key, "…")
        kind = RefusedError if status in (400, 413, 422) else UserError
        said = said[:300] or "no reason given"
        return kind(f"The LLM server {self._host} refuses to ask '{self.model}' (status {status}): {said}.")


def _fewer(extras: tuple[str, ...], complaint: bytes) -> tuple[str, ...]:
    """Without the one that the complaint names, else without the first."""
    named = next((name for name in extras if name.encode() in complaint), extras[0])
    return tuple(name for name in extras if name != named)


def _read(body: bytes) -> Reply | None:
    try:
        return read_reply(json.loads(body))
    except (ValueError, RecursionError):
        return None
