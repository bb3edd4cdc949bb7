"""A local server with the chat protocol; tests choose its responses and its faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass
class Sends:
    """One response. `never` keeps the connection open without a word; `drips` sends the body byte by byte."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    never: bool = False
    drips: bool = False


def says(content: str, tokens: int | None = 40, logprobs: list[tuple[str, float]] | None = None) -> Sends:
    """A well-formed completion with this content."""
    choice: Json = {"message": {"role": "assistant", "content": content}}
    if logprobs is not None:
        choice["logprobs"] = {"content": [{"token": token, "logprob": value} for token, value in logprobs]}
    usage = {} if tokens is None else {"usage": {"prompt_tokens": 0, "total_tokens": tokens}}
    return Sends(json.dumps({"choices": [choice], **usage}).encode())


def labels(name: str, confidence: float = 0.95, tokens: int | None = 40) -> Sends:
    """A good answer."""
    return says(json.dumps({"reason": "It says so.", "class": name, "confidence": confidence}), tokens)


@dataclass
class ChatServer:
    """`reply` makes each response; all requests are recorded."""

    url: str
    reply: Callable[[Json], Sends]
    asked: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[str]:
        """The texts of the requests, in order."""
        return [json.loads(body["messages"][1]["content"])["text"] for body in self.asked]


def in_turn(*responses: Sends) -> Callable[[Json], Sends]:
    """These responses one after the other, the last one again and again."""
    left = list(responses)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def chat_server(reply: Callable[[Json], Sends]) -> Iterator[ChatServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                self.send_error(404)
                return
            server.asked.append(body)
            server.headers.append(dict(self.headers))
            sends = server.reply(body)
            if sends.never:
                server.ended.wait(60)
                return
            self.send_response(sends.status)
            for name, value in sends.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sends.body)))
            self.end_headers()
            for part in [sends.body[at : at + 1] for at in range(len(sends.body))] if sends.drips else [sends.body]:
                self.wfile.write(part)
                self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that gave up waiting

    http = Quiet(("127.0.0.1", 0), Handler)
    server = ChatServer(f"http://127.0.0.1:{http.server_port}/v1", reply)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        http.shutdown()
        http.server_close()
        thread.join(60)
