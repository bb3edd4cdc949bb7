"""A stand-in for the Hugging Face hub that accepts pushes of its client and writes the files to a folder."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import huggingface_hub.constants
import pytest

TOKEN = "hf_made_up"


class StandInHub(ThreadingHTTPServer):
    """Repositories by name, each with the folder in which its files lie, and how it was asked for."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.asked: dict[str, dict[str, Any]] = {}

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

    def do_GET(self) -> None:
        self._say(404, {"error": f"nothing is at {self.path}"})

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
        self._say(200, {"commitUrl": f"{self.server.address}/{repo}/commit/{'0' * 40}", "commitOid": "0" * 40})

    def _say(self, code: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def stand_in_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """The hub's own client talks to this one, with a token that it takes."""
    hub = StandInHub(folder)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", hub.address)
    thread = Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
