"""A chat server on this machine that labels texts by a function, to try a language model as annotator without one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKENS = 100
"""What each answer of the stub costs."""


@contextmanager
def stub_chat_server(label: Callable[[str], str | set[str]], tokens: int = TOKENS) -> Iterator[str]:
    """Serve OpenAI's chat protocol while the block runs.

    Args:
        label: Returns the class of a text, or a set of classes if it may have several.
        tokens: How many tokens each answer reports.

    Yields:
        The address to give to a client.

    >>> import httpx
    >>> body = {"messages": [{"role": "user", "content": '{"text": "hot soup"}'}]}
    >>> with stub_chat_server(lambda text: "food") as url:
    ...     reply = httpx.post(f"{url}/chat/completions", json=body).json()
    >>> reply["choices"][0]["message"]["content"]
    '{"reason": "", "class": "food", "confidence": 0.9}'
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(_completion(label, body, tokens)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def _completion(label: Callable[[str], str | set[str]], body: dict[str, Any], tokens: int) -> dict[str, Any]:
    question = next(message for message in reversed(body["messages"]) if message["content"].startswith("{"))
    answer = label(json.loads(question["content"])["text"])
    given = {"class": answer} if isinstance(answer, str) else {"classes": sorted(answer)}
    content = json.dumps({"reason": "", **given, "confidence": 0.9})
    return {
        "choices": [{"message": {"role": "assistant", "content": content}}],
        "usage": {"total_tokens": tokens},
    }
