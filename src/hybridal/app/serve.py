"""Serves a project: the web app in this process, its trainer in another."""

from __future__ import annotations

import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import closing, suppress
from typing import NoReturn, Protocol

import uvicorn

from hybridal.app.people.accounts import the_owner
from hybridal.app.people.passwords import hashed
from hybridal.app.project import Project
from hybridal.app.trainer.supervisor import Supervisor
from hybridal.app.web.app import create_app
from hybridal.app.web.entry import Entry
from hybridal.errors import UserError

PORT = 8420
HERE = ("127.0.0.1", "localhost", "::1")


class Background(Protocol):
    """Work beside the pages."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def serve(
    project: Project,
    *,
    host: str = HERE[0],
    port: int | None = None,
    browser: bool = False,
    announce: Callable[[str], object] = print,
    background: Background | None = None,
) -> None:
    """Until it is interrupted. On this machine alone, a link lets the owner in; elsewhere everybody has a password."""
    entry = Entry() if host in HERE else None
    app = create_app(project, entry)
    with closing(bind(host, port)) as listening:
        address = f"http://{_shown(host)}:{listening.getsockname()[1]}/" + (f"?token={entry.token}" if entry else "")
        announce(address)
        # The socket listens already: a browser that is early waits.
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        trainer = background or Supervisor(project)
        trainer.start()
        # uvicorn ends its work on a signal, then raises it again: that must not end the process before the trainer.
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            config = uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=5)
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listening])
        finally:
            trainer.stop()
            project.close()
            signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def bind(host: str, port: int | None) -> socket.socket:
    """A socket that listens; without a port, on the usual one or, where that is taken, on any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return _listen(family, host, PORT if port is None else port)
    except (OSError, OverflowError) as error:
        if port is None and isinstance(error, OSError):
            with suppress(OSError):
                return _listen(family, host, 0)
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"--host {host} --port {port or PORT}: cannot be used ({reason}); name others.") from error


def _listen(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    # Named as TCP, or asyncio would leave small answers waiting 40 ms for the browser's acknowledgement.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def set_owner_password(project: Project, password: str) -> None:
    """The password with which the owner signs in, as `me`."""
    kept = hashed(password)
    with project.sessions.begin() as session:
        the_owner(session).password = kept


def has_owner_password(project: Project) -> bool:
    """Whether the owner can sign in with one."""
    with project.reads() as session:
        return the_owner(session).password is not None
