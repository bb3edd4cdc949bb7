"""Client of a labelling project: add texts, label them, read predictions, download files. Needs no extra."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hybridal.errors import UserError
from hybridal.system.files import file_made_whole, usable_path

TOKEN_VARIABLE = "HYBRIDAL_TOKEN"
MAX_ATTEMPTS = 5
UPLOAD_CHARACTERS = 10_000_000  # per request; the app accepts 200 MB
LONE_SURROGATES = "surrogatepass"  # send them as they are: the app stores none, so it finds nothing


class RequestError(UserError):
    """The app refused a request or could not be reached.

    Attributes:
        status: The HTTP status, or 0 if there was no response.

    Example:
        >>> str(RequestError("There is no such text.", 404)), RequestError("There is no such text.", 404).status
        ('There is no such text.', 404)
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Text:
    """A text of a project with its label and the model's prediction.

    Attributes:
        id: The text's id.
        text: The text itself; empty in `Project.predictions`.
        label: The name of its class, or None without a label. In a project with several classes per text, the set of
            its classes, or booleans by class if only some are decided.
        prediction: The name of the predicted class, or None without a prediction. In a project with several classes per
            text, the set of the predicted ones.
        probability: The calibrated probability of the predicted class; of several classes, of the likeliest.

    Example:
        >>> Text("t1", "How do I pay?", prediction="question", probability=0.9).prediction
        'question'
    """

    id: str
    text: str
    label: str | frozenset[str] | Mapping[str, bool] | None = None
    prediction: str | frozenset[str] | None = None
    probability: float | None = None


class Project:
    """A labelling project of `hybridal label` or `hybridal serve`.

    The role of the token decides what it may do: annotators label, reviewers also export, owners also add texts.

    Args:
        url: The address of the project.
        token: A token from the project's page *Programs*; by default the environment variable `HYBRIDAL_TOKEN`.
        timeout: Seconds to wait for a response.

    Raises:
        UserError: The address or the token is not valid.

    Example:
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
            raise UserError(f"`token`: pass one from the page Programs, or set {TOKEN_VARIABLE}.", field="token")
        self._opener = build_opener(_NoRedirects)

    def texts(self, search: str = "", label: str = "", state: str = "") -> Iterator[Text]:
        """Iterate over texts.

        Args:
            search: Only texts that contain these words.
            label: Only texts of this class.
            state: Only texts in this state, such as `labelled`, `unlabelled`, `skipped` or `flagged`.

        Returns:
            The texts, loaded page by page.

        Raises:
            RequestError: There is no such class, or the state is unknown.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> [text.id for text in project.texts(state="unlabelled")]  # doctest: +SKIP
            ['t2', 't3']
        """
        page, has_more = 1, True
        while has_more:
            query = {"search": search, "class": label, "state": state, "page": page, "whole": True}
            found = self._json("GET", "/texts", {name: value for name, value in query.items() if value != ""})
            yield from map(_text, found["items"])
            page, has_more = page + 1, page < found["pages"] or found["more"]

    def text(self, id: str) -> Text:
        """Return one text.

        Args:
            id: The text's id.

        Returns:
            The text with its label and prediction.

        Raises:
            RequestError: There is no such text.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> project.text("t1").label  # doctest: +SKIP
            'question'
        """
        return _text(self._json("GET", f"/texts/{quote(id, safe='', errors=LONE_SURROGATES)}"))

    def add(self, texts: Iterable[str | Mapping[str, Any]], *, suggested: bool = False) -> int:
        """Add texts; a text that exists with the same id and content stays unchanged. Needs an owner's token.

        Args:
            texts: Strings, or mappings with `text` and optionally `id`, `label` and further columns, which are shown
                next to the text. A label is the name of a class, or as in `label` if a text may have several.
            suggested: Show the labels as suggestions only, instead of adding them as labels.

        Returns:
            The number of new texts.

        Raises:
            UserError: An item is neither a string nor a mapping, or contains a lone surrogate.
            RequestError: The app refused the texts.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> project.add([{"id": "t1", "text": "How do I pay?", "label": "question"}])  # doctest: +SKIP
            1
        """
        if isinstance(texts, str):
            raise UserError(f"Expected a list of texts, got the single text {texts!r:.40}; put it into a list.")
        rows = [{"text": one} if isinstance(one, str) else one for one in texts]
        for at, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise UserError(f"Row {at} is {row!r:.40}; pass a string, or a mapping with `text`.")
        columns = [column for column in ("text", "id", "label") if any(column in row for row in rows)]
        fields = {column: column for column in columns} | ({"suggested": "true"} if suggested else {})
        empty = dict.fromkeys(columns)  # every part must have all columns
        added = 0
        for lines in _parts([_line(at, empty | {**row, **_given(row)}) for at, row in enumerate(rows)]):
            added += self._upload("/texts", fields, "texts.jsonl", lines)["added"]
        return added

    def next(self, n: int = 5) -> list[Text]:
        """Return the most useful texts to label, which are leased to the token's person for some minutes.

        Args:
            n: The largest number of texts.

        Returns:
            The texts, most useful first; fewer than `n` if no others are left.

        Raises:
            RequestError: The app refused the request or cannot be reached.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> [text.text for text in project.next(2)]  # doctest: +SKIP
            ['It crashes when I click save', 'How do I pay?']
        """
        return [*map(_text, self._json("GET", "/next", {"n": n})["items"])]

    def label(
        self,
        id: str,
        label: str | Collection[str] | Mapping[str, bool],
        *,
        flagged: bool = False,
        comment: str = "",
        new_class: bool = False,
    ) -> None:
        """Label a text; the label is durable when this returns.

        Args:
            id: The text's id.
            label: The name of a class. In a project with several classes per text, all its classes, where an empty set
                means none of them; or booleans for some of the classes, which leave the others as they are.
            flagged: Ask a reviewer to look at the text.
            comment: A remark that is stored with the label.
            new_class: Add the class if there is none of this name. Needs an owner's token, or a reviewer's where
                reviewers may add classes. Otherwise an unknown name is an error, since it may be misspelt.

        Raises:
            RequestError: There is no such text or class.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> project.label("t1", "question", comment="also about prices")  # doctest: +SKIP
            >>> project.label("t2", {"bug", "question"})  # several classes per text  # doctest: +SKIP
            >>> project.label("t3", {"bug": False})  # says nothing of the others  # doctest: +SKIP
        """
        choice = {**_answer(label), **({"new_class": True} if new_class else {})}
        self._annotate(id, action="label", flagged=flagged, comment=comment, **choice)

    def skip(self, id: str, *, flagged: bool = False, reason: str | None = None, comment: str = "") -> None:
        """Skip a text that cannot be labelled.

        Args:
            id: The text's id.
            flagged: Ask a reviewer to look at the text.
            reason: "unclear", "none_fits", "several_fit", "guidelines", "wrong_text" or "other".
            comment: A remark that is stored with the skip.

        Raises:
            RequestError: There is no such text.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> project.skip("t2", reason="wrong_text", comment="not in our language")  # doctest: +SKIP
        """
        why = {} if reason is None else {"reason": reason}
        self._annotate(id, action="skip", flagged=flagged, comment=comment, **why)

    def _annotate(self, id: str, **answer: Any) -> None:
        # The idempotency key makes retries safe.
        self._json("POST", "/annotations", body={"key": token_hex(16), "text": id, **answer}, idempotent=True)

    def classes(self) -> list[str]:
        """Return the names of the active classes in their order.

        Returns:
            The names.

        Raises:
            RequestError: The app refused the request or cannot be reached.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> project.classes()  # doctest: +SKIP
            ['bug', 'question']
        """
        return [one["name"] for one in self._json("GET", "/classes")["items"]]

    def predictions(self) -> Iterator[Text]:
        """Iterate over the predictions of all scored texts, without the texts themselves. Needs a reviewer's token.

        Returns:
            The predictions, loaded as they are iterated over.

        Raises:
            RequestError: No text has been scored yet.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> next(project.predictions())  # doctest: +SKIP
            Text(id='t1', text='', label=None, prediction='question', probability=0.93)
        """
        with self._request("GET", "/export/predictions.csv") as reply:
            for row in csv.DictReader(io.TextIOWrapper(reply, encoding="utf-8", newline="")):
                yield Text(row["id"], "", None, *_prediction(row))

    def progress(self) -> dict[str, Any]:
        """Return the data of the page *Progress*: rounds with their metrics, labels per class, and advice.

        Returns:
            The data, as the API's `/progress` describes it.

        Raises:
            RequestError: The app refused the request or cannot be reached.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> project.progress()["advice"]  # doctest: +SKIP
        """
        return self._json("GET", "/progress")

    def export(self, name: str, path: str | Path) -> None:
        """Download an export. Needs a reviewer's token.

        Args:
            name: `labels.csv`, `labels.jsonl`, `labels.parquet`, `predictions.csv`, `predictions.parquet`, `model.zip`
                or `label-studio.json`.
            path: The file to write; it is replaced only when the download is complete.

        Raises:
            UserError: The folder of the file does not exist.
            RequestError: There is no such export, or nothing to export yet.

        Example:
            >>> project = Project("https://label.example.org", token="hybridal_123")
            >>> project.export("labels.csv", "labels.csv")  # doctest: +SKIP
        """
        path = usable_path(path)
        if not path.parent.is_dir():
            raise UserError(f"There is no folder '{path.parent}'; create it first.", field="path")
        with self._request("GET", f"/export/{quote(name)}") as reply, file_made_whole(path) as file:
            shutil.copyfileobj(reply, file)

    def _json(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, idempotent: bool = False
    ) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        address = f"{path}?{urlencode(query, errors=LONE_SURROGATES)}" if query else path
        with self._request(method, address, content, "application/json", idempotent) as reply:
            return _object(reply)

    def _upload(self, path: str, fields: Mapping[str, str], name: str, content: str) -> dict[str, Any]:
        boundary = token_hex(16)
        start = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in fields.items()
        )
        start += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = f"{start}{content}\r\n--{boundary}--\r\n".encode()
        with self._request("POST", path, body, f"multipart/form-data; boundary={boundary}") as reply:
            return _object(reply)

    def _request(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        content_type: str | None = None,
        idempotent: bool = False,
    ) -> HTTPResponse:
        """Send a request; retry with exponential back-off if the app is busy or away and a repetition does no harm."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        headers |= {"Content-Type": content_type} if content is not None and content_type else {}
        request = Request(f"{self.url}/api{path}", content, headers, method=method)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                reply: HTTPResponse = self._opener.open(request, timeout=self.timeout)
                return reply
            except HTTPError as error:
                failed = RequestError(_sentence(error), error.code)
            except (OSError, HTTPException) as error:
                failed = RequestError(f"{self.url} cannot be reached ({getattr(error, 'reason', error)}).")
            # A refused request (429) had no effect; a request without a proper response may have had one.
            is_lost = failed.status in (0, 502, 503, 504)
            may_retry = failed.status == 429 or (is_lost and (idempotent or method == "GET"))
            if not may_retry or attempt == MAX_ATTEMPTS:
                raise failed
            time.sleep(2.0 ** (attempt - 1))
        raise AssertionError


class _NoRedirects(HTTPRedirectHandler):
    """Does not follow redirects, which would send the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _sentence(error: HTTPError) -> str:
    """The app's own sentence, or one about the status if the response is not the app's."""
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
        raise RequestError("The response is incomplete or not the app's; check the address of the project.") from error


def _text(item: Mapping[str, Any]) -> Text:
    known = item["prediction"] or {}
    predicted = frozenset(known["classes"]) if "classes" in known else known.get("class")
    return Text(item["id"], item["text"], _label(item), predicted, known.get("probability"))


def _label(item: Mapping[str, Any]) -> str | frozenset[str] | Mapping[str, bool] | None:
    """The label of a text, or what the person has decided so far of a text to label."""
    if "decisions" in item:
        return {name: has for name, has in item["decisions"].items() if has is not None}
    return frozenset(item["classes"]) if "classes" in item else item.get("class")


def _answer(label: str | Collection[str] | Mapping[str, bool]) -> dict[str, Any]:
    """The fields of an annotation with this label."""
    if isinstance(label, str):
        return {"class": label}
    return {"decisions": dict(label)} if isinstance(label, Mapping) else {"classes": sorted(label)}


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    """The label of a text to add, as JSON has it: a set becomes a list."""
    return {"label": sorted(row["label"])} if isinstance(row.get("label"), set | frozenset) else {}


def _prediction(row: Mapping[str, str]) -> tuple[str | frozenset[str], float]:
    """The prediction and its probability in a row of the file of predictions."""
    if "labels" in row:
        return frozenset(json.loads(row["labels"])), max(float(row[name]) for name in row if name.startswith("p("))
    return row["class"], float(row["probability"])


def _line(at: int, row: Mapping[str, Any]) -> str:
    """A row as a JSON line. Lone surrogates, which UTF-8 cannot encode, are refused before anything is sent."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"Text {at} contains U+{ord(line[error.start]):04X}, a lone surrogate, which is not a valid character; "
            "correct or remove it.",
            field="texts",
        ) from error
    return line


def _parts(lines: Iterable[str]) -> Iterator[str]:
    """Join lines into parts of at most `UPLOAD_CHARACTERS`."""
    part: list[str] = []
    size = 0
    for line in lines:
        if part and size + len(line) > UPLOAD_CHARACTERS:
            yield "".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield "".join(part)


__all__: Sequence[str] = ("Project", "RequestError", "Text")
