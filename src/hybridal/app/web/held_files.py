"""Previewed files that wait on the server until their texts are added, so that each is sent once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe

from fastapi import UploadFile

from hybridal.app.app_errors import MissingError
from hybridal.app.web.uploads import name_only, saved_upload
from hybridal.errors import UserError
from hybridal.sentences import translatable

MAX_HELD = 4  # per project
HELD_SECONDS = 1800.0


@dataclass
class HeldFile:
    """A file that its owner previewed.

    Attributes:
        path: Where it is.
        person: The number of the person who sent it; only they can use it.
        until: When it is deleted, in the seconds of `time.monotonic`.
        delete: Deletes it.
        done: How many of its texts were added.
        total: How many texts are being added.
    """

    path: Path
    person: int
    until: float
    delete: Callable[[], None]
    done: int = 0
    total: int = 0

    def progress(self, done: int, total: int) -> None:
        """Note how many texts were added."""
        self.done, self.total = done, total


class HeldFiles:
    """The held files of one app.

    A file is deleted when its texts are added, after half an hour, when newer ones need its place, and when the server
    stops.
    """

    def __init__(self) -> None:
        self._held: dict[str, HeldFile] = {}
        self._lock = threading.Lock()

    def hold(self, upload: UploadFile, person: int) -> str:
        """Keep a file; return the token that finds it."""
        copy, token = ExitStack(), token_urlsafe(16)
        path = copy.enter_context(saved_upload(upload))
        with self._lock:
            self._delete_old(MAX_HELD - 1)
            self._held[token] = HeldFile(path, person, time.monotonic() + HELD_SECONDS, copy.close)
        return token

    def find(self, token: str, person: int) -> HeldFile:
        """Return a person's file."""
        if not token:
            raise UserError(translatable("There is no file in this request; send it in the field `file`."))
        with self._lock:
            self._delete_old(MAX_HELD)
            found = self._held.get(token)
        if found is None or found.person != person:
            raise MissingError(translatable("The file is no longer on the server; choose it again."))
        return found

    @contextmanager
    def opened(self, token: str, person: int) -> Iterator[HeldFile]:
        """Find a file; errors raised inside show its name without the folder."""
        found = self.find(token, person)
        with name_only(found.path):
            yield found

    def tokens(self) -> list[str]:
        """The tokens of all files, oldest first."""
        return [*self._held]

    def drop(self, token: str) -> None:
        """Delete a file."""
        with self._lock:
            if found := self._held.pop(token, None):
                found.delete()

    def close(self) -> None:
        """Delete all files."""
        for token in self.tokens():
            self.drop(token)

    def _delete_old(self, most: int) -> None:
        for at, (token, one) in enumerate(reversed([*self._held.items()])):
            if at >= most or one.until < time.monotonic():
                self._held.pop(token).delete()
