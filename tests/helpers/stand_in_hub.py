"""A stand-in for the Hugging Face hub: its client pushes to it and downloads from it; the files lie in a folder."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import huggingface_hub.constants
import pytest

TOKEN = "hf_made_up"
COMMIT = "0" * 40
_LISTED = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/(?P<what>revision|tree)/(?P<revision>[^/]+)")
_FILE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


class StandInHub(ThreadingHTTPServer):
    """Repositories by name, each with the folder in which its files lie, and how it was asked for.

    Attributes:
        gated: Repositories whose files only a token can download.
        breaks: For a file, the number of bytes after which its next downloads break off, one for each.
        requests: Method and path of each request, and where a part of a file was asked for, from which byte.
    """

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.asked: dict[str, dict[str, Any]] = {}
        self.gated: set[str] = set()
        self.breaks: dict[str, list[int]] = {}
        self.requests: list[str] = []

    def files(self, repo: str) -> Path:
        return self.folder / repo


class Answer(BaseHTTPRequestHandler):
    server: StandInHub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.partition("?")[0]
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._say(401, {"error": "Invalid credentials in Authorization header"})
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif "/preupload/" in path:
            files = [{"path": file["path"], "uploadMode": "regular"} for file in json.loads(body)["files"]]
            self._say(200, {"files": [{**file, "shouldIgnore": False} for file in files]})
        elif path == "/api/validate-yaml":
            self._say(200, {"errors": [], "warnings": []})
        else:
            self._commit("/".join(path.split("/")[3:5]), [json.loads(line) for line in body.splitlines()])

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        part = self.headers.get("Range", "")
        self.server.requests.append(f"{self.command} {path} {part}".strip())
        if listed := _LISTED.fullmatch(path):
            self._list(**listed.groupdict())
        elif file := _FILE.fullmatch(path):
            self._send_file(**file.groupdict(), first=int(part.removeprefix("bytes=").rstrip("-") or 0))
        elif path == "/":
            self._say(200, {})
        else:
            self._say(404, {"error": f"nothing is at {self.path}"})

    def _list(self, repo: str, what: str, revision: str) -> None:
        """What a revision is, or its files."""
        folder = self.server.files(repo)
        if not folder.is_dir():  # as the hub says it to clients without a token, to hide private repositories
            self._say(401, {"error": "Invalid username or password."})
        elif (commit := _commit(revision)) is None:
            self._say(404, {"error": f"Invalid rev id: {revision}"}, {"X-Error-Code": "RevisionNotFound"})
        elif what == "revision":
            self._say(200, {"id": repo, "sha": commit, "siblings": []})
        else:
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            named = [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files]
            self._say(200, [_entry(name, content) for name, content in named])

    def _send_file(self, repo: str, revision: str, path: str, first: int) -> None:
        file, commit = self.server.files(repo) / path, _commit(revision)
        if repo in self.server.gated and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._say(401, {"error": f"Access to model {repo} is restricted."}, {"X-Error-Code": "GatedRepo"})
        elif commit is None or not file.is_file():
            headers = {"X-Error-Code": "EntryNotFound" if commit else "RevisionNotFound"}
            self._say(404, {"error": "Entry not found"}, {**headers, "X-Repo-Commit": commit or ""})
        else:
            content = file.read_bytes()
            self.send_response(206 if first else 200)
            self.send_header("X-Repo-Commit", commit)
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("Content-Length", str(len(content) - first))
            if first:
                self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
            self.end_headers()
            if self.command == "GET":
                breaks = self.server.breaks.get(path)
                self.wfile.write(content[first : breaks.pop(0) if breaks else None])

    def _create(self, asked: dict[str, Any]) -> None:
        repo = f"{asked['organization'] or 'me'}/{asked['name']}"
        known = repo in self.server.asked
        self.server.asked.setdefault(repo, asked)
        kind = "datasets/" if asked.get("type") == "dataset" else ""
        self._say(409 if known else 200, {"url": f"{self.server.address}/{kind}{repo}"})

    def _commit(self, repo: str, lines: list[dict[str, Any]]) -> None:
        folder = self.server.files(repo)
        for value in (line["value"] for line in lines if line["key"] == "file"):
            (folder / value["path"]).parent.mkdir(parents=True, exist_ok=True)
            (folder / value["path"]).write_bytes(base64.b64decode(value["content"]))
        self._say(200, {"commitUrl": f"{self.server.address}/{repo}/commit/{COMMIT}", "commitOid": COMMIT})

    def _say(self, code: int, data: Any, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(data).encode()
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def _commit(revision: str) -> str | None:
    """The commit of a revision; there is one branch, and every commit that is asked for."""
    return COMMIT if revision == "main" else revision if re.fullmatch("[0-9a-f]{40}", revision) else None


def _entry(path: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


@contextmanager
def stand_in_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """The hub's own client talks to this one, with a token that it takes."""
    hub, constants = StandInHub(folder), huggingface_hub.constants
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.address + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder.with_name(f"{folder.name}-cache")))
    thread = Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
