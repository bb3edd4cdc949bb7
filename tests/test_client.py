from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridal import client
from hybridal.app.api_tokens import make_token
from hybridal.app.labelling.text_search import MAX_COUNTED
from hybridal.app.labelling.texts import add
from hybridal.app.people import User
from hybridal.app.trainer.stored_predictions import ScoredTexts, keep_predictions
from hybridal.client import Project, RequestError, Text
from hybridal.errors import UserError
from tests.app.browser.served import Served, served
from tests.app.made_up import me


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "p", ["red", "green", "<b>blue</b>\n\u202e\U0001f600" + "x" * 600]) as opened:
        yield opened


def opened(app: Served, role: str = "owner") -> Project:
    with app.project.sessions.begin() as session:
        return Project(app.address + "/", make_token(session, User(me(app.project), "", ""), role, role)[1])


def test_all_matches_are_listed_even_if_they_are_not_counted(app: Served) -> None:
    with app.project.sessions.begin() as session:
        add(session, [(f"m{at}", f"one of many {at}", None) for at in range(MAX_COUNTED + 60)])
    assert [text.id for text in opened(app).texts("many")] == [f"m{at}" for at in range(MAX_COUNTED + 60)]


def test_texts_come_in_are_labelled_and_go_out(app: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = opened(app)
    hostile = '"quoted"\r\n--edge--\r\n\u2028 Content-Disposition: form-data'
    rows = [{"id": "x/ü?#", "text": hostile, "label": "a", "page": "7"}, {"id": "plain", "text": "plain"}]
    monkeypatch.setattr(client, "UPLOAD_CHARACTERS", 60)  # an upload for each
    assert project.add(rows) == 2
    assert project.add(rows) == 0
    assert project.text("x/ü?#") == Text("x/ü?#", hostile, "a")
    assert project.classes() == ["a", "b", "c"]
    handed = project.next(2)
    project.label(handed[0].id, "b", flagged=True, comment="sure")
    project.skip(handed[1].id)
    assert [text.id for text in project.texts(label="b")] == [handed[0].id]
    assert {text.id for text in project.texts()} == {"t0", "t1", "t2", "x/ü?#", "plain"}
    assert [text.text[-3:] for text in project.texts("BLUE")] == ["xxx"]  # the whole of a long one
    assert {row["class"]: row["n"] for row in project.progress()["balance"]} == {"a": 1, "b": 1, "c": 0}
    project.export("labels.jsonl", tmp_path / "labels.jsonl")
    lines = (tmp_path / "labels.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    assert {line["id"]: line["label"] for line in map(json.loads, lines)} == {
        "x/ü?#": "a",
        handed[0].id: "b",
        handed[1].id: None,
    }
    app.project.probabilities.begin({"classes": [1, 2, 3]}, 3)
    app.project.probabilities.write([1, 2], np.array([[0.75, 0.25, 0.0], [0.0, 1.0, 0.0]]), [1, 1])
    assert [*project.predictions()] == [Text("t0", "", None, "a", 0.75), Text("t1", "", None, "b", 1.0)]


def test_sets_of_classes_come_in_are_given_and_go_out(tmp_path: Path) -> None:
    with served(tmp_path / "p", ["red", "green", "blue"], multi_label=True, validation_first=0) as app:
        project = opened(app)
        given: list[Any] = [{"b", "a"}, [], {"c": True, "a": False}, "c", None]
        assert project.add({"id": f"x{at}", "text": f"x{at}", "label": label} for at, label in enumerate(given)) == 5
        found = [project.text(f"x{at}").label for at in range(5)]
        assert found == [frozenset("ab"), frozenset(), {"a": False, "c": True}, frozenset("c"), None]
        project.label("t0", {"a", "c"})
        project.label("t1", set(), comment="nothing")
        project.label("t2", {"b": True})
        project.label("t2", {"a": False})
        project.label("x4", ["new"], new_class=True)
        labels = {text.id: text.label for text in project.texts(state="labelled")}
        assert [labels[f"t{at}"] for at in range(3)] == [frozenset("ac"), frozenset(), {"a": False, "b": True}]
        assert labels["x4"] == frozenset(["new"])
        assert {text.id: text.label for text in project.next(9)}["t2"] == {"a": False, "b": True}
        project.export("labels.jsonl", tmp_path / "labels.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
        assert {line["id"]: line["label"] for line in lines}["t2"] == {"a": False, "b": True}
        with pytest.raises(RequestError, match="several classes"):
            project.label("t0", "a")
        scored = np.array([[0.75, 0.5, 0.25, 0], [0, 0.25, 0, 0.125]], dtype=np.float32)
        keep_predictions(app.project, 1, ScoredTexts(["t0", "t1"], scored, [1, 2, 3, 4], thresholds=[0.5] * 4))
        predicted = [Text("t0", "", None, frozenset("ab"), 0.75), Text("t1", "", None, frozenset(), 0.25)]
        assert [*project.predictions()] == predicted
        assert (project.text("t0").prediction, project.text("t0").probability) == (frozenset("ab"), 0.75)


def test_a_class_is_only_added_where_that_is_asked_for(app: Served) -> None:
    project = opened(app)
    project.label("t0", "a")
    with pytest.raises(RequestError, match="There is no class 'bb'; did you mean 'b'"):
        project.label("t0", "bb")
    assert project.text("t0").label == "a"
    project.label("t0", "bb", new_class=True)
    assert (project.text("t0").label, project.classes()) == ("bb", ["a", "b", "c", "bb"])


def test_every_page_of_a_list_is_walked(app: Served) -> None:
    project = opened(app)
    assert project.add(f"one of many {i}" for i in range(120)) == 120
    assert len({text.id for text in project.texts("one of MANY")}) == 120


def test_refusals_have_the_apps_sentence(app: Served, tmp_path: Path) -> None:
    project = opened(app, "annotator")
    with pytest.raises(RequestError, match=r"^Only an owner may do this\.$") as refused:
        project.add(["new"])
    assert refused.value.status == 403
    with pytest.raises(RequestError, match="Only a reviewer"):
        project.export("labels.csv", tmp_path / "labels.csv")
    assert not (tmp_path / "labels.csv").exists()
    with pytest.raises(RequestError, match="There is no such text"):
        project.text("../tokens")
    with pytest.raises(RequestError, match="This token is not valid for this project") as unknown:
        Project(app.address, "made up").classes()
    assert unknown.value.status == 401


@pytest.mark.parametrize("row", ["half \ud83d", {"text": "whole", "id": "\ud83d"}, {"text": "whole", "\ud83d": "page"}])
def test_broken_unicode_is_reported_with_its_row_before_sending(
    app: Served, row: str | dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "UPLOAD_CHARACTERS", 10)  # an upload for each
    with pytest.raises(UserError, match=r"^Text 1 contains U\+D83D, a lone surrogate"):
        opened(app).add(["one that is whole", row])
    assert len([*opened(app).texts()]) == 3


def test_single_string_instead_of_texts_is_refused(app: Served) -> None:
    with pytest.raises(UserError, match="single text 'crash'"):
        opened(app).add("crash")


def test_a_row_that_is_neither_a_text_nor_a_mapping_is_named(app: Served) -> None:
    for bad in (None, 7, ["a text"]):
        rows: list[Any] = ["a text", bad]
        with pytest.raises(UserError, match=r"Row 1 is .*; pass a string, or a mapping with `text`\."):
            opened(app).add(rows)


def test_search_for_broken_unicode_finds_nothing(app: Served) -> None:
    assert [*opened(app).texts("\ud83d")] == []
    with pytest.raises(RequestError, match="There is no such text"):
        opened(app).text("\ud83d")


@pytest.mark.parametrize(("url", "token"), [("ftp://x", "t"), ("label.example.org", "t"), ("http://x", "a\r\nHost: y")])
def test_bad_address_or_token_is_refused_before_sending(url: str, token: str) -> None:
    with pytest.raises(UserError, match=r"`url`|`token`"):
        Project(url, token)


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A server that is not the app."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def do_POST(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def says(status: int, body: bytes = b"", **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def read(handler: BaseHTTPRequestHandler) -> bytes:
    return handler.rfile.read(int(handler.headers["Content-Length"]))


def test_a_redirection_does_not_get_the_token() -> None:
    seen: list[str] = []

    def thief(handler: BaseHTTPRequestHandler) -> None:
        seen.append(str(handler.headers["Authorization"]))
        says(200, b"{}")(handler)

    with answering(thief) as there, answering(says(302, Location=there)) as here:  # noqa: SIM117
        with pytest.raises(RequestError, match="use that address"):
            Project(here, "secret").classes()
    assert seen == []


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, b"<html>Welcome to our Wi-Fi", "not the app's"),
        (404, b"<html>", "answered with status 404; check the address"),
        (500, b"[]", "answered with status 500"),
    ],
)
def test_response_of_another_server_gets_one_sentence(status: int, body: bytes, words: str) -> None:
    with answering(says(status, body)) as address, pytest.raises(RequestError, match=words):
        Project(address, "secret").classes()


def test_a_busy_app_is_asked_again_and_a_label_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridal.client.time.sleep", lambda _: None)
    keys: list[str] = []

    def busy(handler: BaseHTTPRequestHandler) -> None:
        keys.append(json.loads(read(handler))["key"])
        says({1: 429, 2: 503}.get(len(keys), 200), b'{"error": "busy"}')(handler)

    with answering(busy) as address:
        Project(address, "secret").label("t1", "a")
    assert (len(keys), len(set(keys))) == (3, 1)


def test_requests_that_would_count_twice_are_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridal.client.time.sleep", lambda _: None)
    sent: list[bytes] = []

    def away(handler: BaseHTTPRequestHandler) -> None:
        sent.append(read(handler))
        says(503, b'{"error": "away"}')(handler)

    with answering(away) as address, pytest.raises(RequestError, match="away"):
        Project(address, "secret").add(["a text without an id"])
    assert len(sent) == 1


def test_unreachable_app_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("hybridal.client.time.sleep", waits.append)
    with answering(says(200)) as address:
        pass
    with pytest.raises(RequestError, match="cannot be reached") as away:
        Project(address, "secret").classes()
    assert (away.value.status, waits) == (0, [1.0, 2.0, 4.0, 8.0])


@pytest.mark.parametrize("path", ["nowhere/labels.csv", "a\0b.csv"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_sent(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Project, "_request", lambda *_: pytest.fail("sent"))
    with pytest.raises(UserError, match=r"There is no folder 'nowhere'; create it first|contains a NUL character"):
        Project("http://127.0.0.1:9", "a-token").export("labels.csv", path)


def test_the_client_loads_neither_torch_nor_the_app() -> None:
    script = (
        "import sys, hybridal.client\n"
        "print([name for name in ('torch', 'numpy', 'fastapi', 'hybridal.app') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
