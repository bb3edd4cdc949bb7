"""A labelling project from a program: texts in, labels, predictions and files out. Needs no torch, and no extra."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hybridal.errors import UserError
from hybridal.system.files import file_made_whole

TOKEN_VARIABLE = "HYBRIDAL_TOKEN"
TRIES = 5
A_PART = 10_000_000  # characters of one upload: the app takes five times as much

HALVES = "surrogatepass"  # half a character in a question: the app, which has none, finds nothing


class RequestError(UserError):
    """The app refused a request, or could not be reached (then `status` is 0); the message is its own sentence."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Text:
    """A text of the project: what people say of it, and what the model does, with its probability."""

    id: str
    text: str
    label: str | None = None
    prediction: str | None = None
    probability: float | None = None


class Project:
    """A project of `hybridal label`, by its address and a token from its page *Programs* (or in `HYBRIDAL_TOKEN`).

    What a token may do is decided by its role: an annotator's labels, a reviewer's exports, an owner's adds texts.

    >>> project = Project("https://label.example.org", token="hybridal_123")
    >>> project.add(["It crashes when I click save", "How do I pay?"])  # doctest: +SKIP
    2
    >>> for text in project.next(2):  # doctest: +SKIP
    ...     project.label(text.id, "bug" if "crash" in text.text else "question")
    >>> project.export("labels.csv", "labels.csv")  # doctest: +SKIP
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 60.0) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise UserError(f"`url` must begin with http:// or https://, not be '{url:.60}'.", field="url")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._token = token if token is not None else os.environ.get(TOKEN_VARIABLE, "")
        if not self._token.isascii() or not self._token.isprintable() or not self._token:
            raise UserError(f"`token`: give one from the page Programs, or set {TOKEN_VARIABLE}.", field="token")
        self._opener = build_opener(_NoRedirects)

    def texts(self, search: str = "", label: str = "", state: str = "") -> Iterator[Text]:
        """The texts that contain some words, have a label or are in a state, such as `labelled` or `unlabelled`."""
        page, further = 1, True
        while further:
            asked = {"search": search, "class": label, "state": state, "page": page, "whole": True}
            found = self._json("GET", "/texts", {name: value for name, value in asked.items() if value != ""})
            yield from map(_text, found["items"])
            page, further = page + 1, page < found["pages"] or found["more"]

    def text(self, id: str) -> Text:
        """One text."""
        return _text(self._json("GET", f"/texts/{quote(id, safe='', errors=HALVES)}"))

    def add(self, texts: Iterable[str | Mapping[str, Any]], *, suggested: bool = False) -> int:
        """Adds texts: strings, or rows with `text` and perhaps `id`, `label` and whatever else shall stand beside it.

        How many were new: a text whose id and words are there is left as it is. Labels count as those of a file, or
        are only `suggested`.
        """
        if isinstance(texts, str):
            raise UserError(f"{texts!r:.40} is one text, and would be added letter by letter; give a list of texts.")
        rows = [{"text": one} if isinstance(one, str) else one for one in texts]
        for at, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise UserError(f"Row {at} is {row!r:.40}; give a text, or a mapping with `text`.")
        columns = [column for column in ("text", "id", "label") if any(column in row for row in rows)]
        fields = {column: column for column in columns} | ({"suggested": "true"} if suggested else {})
        empty = dict.fromkeys(columns)  # every part has every column, whatever its rows say
        added = 0
        for lines in _parts([_line(at, empty | {**row}) for at, row in enumerate(rows)]):
            added += self._upload("/texts", fields, "texts.jsonl", lines)["added"]
        return added

    def next(self, n: int = 5) -> list[Text]:
        """The texts that the model would like to have labelled most; they are yours for some minutes."""
        return [*map(_text, self._json("GET", "/next", {"n": n})["items"])]

    def label(self, id: str, label: str, *, flagged: bool = False, comment: str = "", new_class: bool = False) -> None:
        """Label a text; when this returns, the label is safe.

        Args:
            id: The text's id.
            label: The name of a class.
            flagged: Ask a reviewer to look at the text.
            comment: A remark that is kept with the answer.
            new_class: Add the class if there is none of this name. Needs an owner's token, or a reviewer's where
                reviewers may add classes. Otherwise an unknown name is an error, since it may be misspelt.

        Raises:
            RequestError: There is no such text or class.
        """
        told = {"class": label, "new_class": True} if new_class else {"class": label}
        self._annotate(id, action="label", flagged=flagged, comment=comment, **told)

    def skip(self, id: str, *, flagged: bool = False, comment: str = "") -> None:
        """Says that this text cannot be labelled."""
        self._annotate(id, action="skip", flagged=flagged, comment=comment)

    def _annotate(self, id: str, **said: Any) -> None:
        # The key makes it count once, however often it has to be sent.
        self._json("POST", "/annotations", body={"key": token_hex(16), "text": id, **said}, again=True)

    def classes(self) -> list[str]:
        """The names of the classes, in their order."""
        return [one["name"] for one in self._json("GET", "/classes")["items"]]

    def predictions(self) -> Iterator[Text]:
        """What the model says of every text, without its words, since all texts were last scored."""
        with self._ask("GET", "/export/predictions.csv") as reply:
            for row in csv.DictReader(io.TextIOWrapper(reply, encoding="utf-8", newline="")):
                yield Text(row["id"], "", None, row["class"], float(row["probability"]))

    def progress(self) -> dict[str, Any]:
        """The rounds with their metrics, the balance of the classes, and advice: what the page *Progress* shows."""
        return self._json("GET", "/progress")

    def export(self, name: str, path: str | Path) -> None:
        """Writes an export to a file, whole or not at all.

        `labels.csv`, `.jsonl` or `.parquet`, `predictions.csv` or `.parquet`, `model.zip`, `label-studio.json`.
        """
        with self._ask("GET", f"/export/{quote(name)}") as reply, file_made_whole(Path(path)) as file:
            shutil.copyfileobj(reply, file)

    def _json(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, again: bool = False
    ) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        where = f"{path}?{urlencode(query, errors=HALVES)}" if query else path
        with self._ask(method, where, content, "application/json", again=again) as reply:
            return _object(reply)

    def _upload(self, path: str, fields: Mapping[str, str], name: str, content: str) -> dict[str, Any]:
        edge = token_hex(16)
        start = "".join(
            f'--{edge}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in fields.items()
        )
        start += f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        sent = f"{start}{content}\r\n--{edge}--\r\n".encode()
        with self._ask("POST", path, sent, f"multipart/form-data; boundary={edge}") as reply:
            return _object(reply)

    def _ask(
        self, method: str, path: str, content: bytes | None = None, kind: str | None = None, again: bool = False
    ) -> HTTPResponse:
        """Asks; again after a while where the app is too busy or away, and asking twice does no harm."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        headers |= {"Content-Type": kind} if content is not None and kind else {}
        request = Request(f"{self.url}/api{path}", content, headers, method=method)
        for attempt in range(1, TRIES + 1):
            try:
                reply: HTTPResponse = self._opener.open(request, timeout=self.timeout)
                return reply
            except HTTPError as error:
                failed = RequestError(_sentence(error), error.code)
            except (OSError, HTTPException) as error:
                failed = RequestError(f"{self.url} cannot be reached ({getattr(error, 'reason', error)}).")
            # Where it was refused, nothing was done; where it got lost, that is not known.
            harmless = failed.status == 429 or ((again or method == "GET") and failed.status in (0, 502, 503, 504))
            if not harmless or attempt == TRIES:
                raise failed
            time.sleep(2.0 ** (attempt - 1))
        raise AssertionError


class _NoRedirects(HTTPRedirectHandler):
    """A redirection is not followed: it would take the token along, to whatever server it leads."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _sentence(error: HTTPError) -> str:
    """What the app said, or what is known where it was not the app that spoke."""
    if 300 <= error.code < 400:
        return f"The server redirects to {error.headers.get('Location', '')!r:.200}; use that address."
    try:
        return str(json.loads(error.read())["error"])
    except (OSError, HTTPException, ValueError, TypeError, KeyError):
        return f"The server answered with status {error.code}; check the address of the project."


def _object(reply: HTTPResponse) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(reply.read())
        return found
    except (OSError, HTTPException, ValueError) as error:
        raise RequestError("The answer broke off, or is not from the app; check the address of the project.") from error


def _text(item: Mapping[str, Any]) -> Text:
    known = item["prediction"] or {}
    return Text(item["id"], item["text"], item.get("class"), known.get("class"), known.get("probability"))


def _line(at: int, row: Mapping[str, Any]) -> str:
    """A row as a file has it. Half a character cannot be written, and is told before anything is sent."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"text {at} holds U+{ord(line[error.start]):04X}, half a character (a lone surrogate); correct it or leave "
            "it out.",
            field="texts",
        ) from error
    return line


def _parts(lines: Iterable[str]) -> Iterator[str]:
    """Lines in parts of a sensible size."""
    some: list[str] = []
    size = 0
    for line in lines:
        if some and size + len(line) > A_PART:
            yield "".join(some)
            some, size = [], 0
        some.append(line)
        size += len(line)
    if some:
        yield "".join(some)


__all__: Sequence[str] = ("Project", "RequestError", "Text")
