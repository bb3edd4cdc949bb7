"""Serves a project, or all projects of a folder: the web app in this process, trainers in others."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypedDict, Unpack

import uvicorn
from fastapi import FastAPI

from hybridal.app.db.connect import connect, with_schema
from hybridal.app.people import change_password, change_person, hash_password, project_owner, verify_password
from hybridal.app.project import DB_VARIABLE, Project
from hybridal.app.trainer.supervisor import Supervisor
from hybridal.app.trainer.trainer_slots import TrainerQueue, trainer_slots
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.host import Host
from hybridal.app.web.operator import Operator
from hybridal.app.web.proxy import Proxies, ProxyHeaders
from hybridal.app.web.start import create_start_app
from hybridal.app.web.web_app import create_app
from hybridal.errors import UserError

PORT = 8420
HERE = ("127.0.0.1", "localhost", "::1")
_SWITCH_SECONDS = 0.0005  # the interpreter's switch interval between threads


class Background(Protocol):
    """Work that runs while the server does."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Listening(TypedDict, total=False):
    """Where and how to listen.

    Attributes:
        port: The port; by default 8420, or any free one.
        browser: Open a browser.
        behind_proxy: Trust the headers of a reverse proxy for the client's address and scheme.
        sign_in_header: The header in which the proxy names the signed-in person; it replaces passwords and links.
        announce: Called with each link.
    """

    port: int | None
    browser: bool
    behind_proxy: bool
    sign_in_header: str | None
    announce: Callable[[str], object]


def serve(
    project: Project, *, host: str = HERE[0], background: Background | None = None, **listening: Unpack[Listening]
) -> None:
    """Serve one project. A local owner signs in with a link; otherwise people have passwords."""
    login_link = LoginLink() if host in HERE and listening.get("sign_in_header") is None else None
    app = create_app(project, login_link)
    app.state.local &= not listening.get("behind_proxy")  # requests through a proxy may come from anywhere
    project.owner_is_operator = project.asks_before_sending = app.state.local
    try:
        _run(app, login_link, host, background or Supervisor(project), **listening)
    finally:
        project.close()


def serve_folder(
    folder: Path,
    *,
    host: str = HERE[0],
    password: str | None = None,
    owner: str | None = None,
    trainers: int | None = None,
    db: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **listening: Unpack[Listening],
) -> None:
    """Serve all projects in a folder.

    Args:
        folder: The folder of the projects.
        host: The address to listen on.
        password: The operator's password; without one, the operator signs in with a link.
        owner: The operator's name, if a proxy signs people in.
        trainers: How many trainers run at the same time.
        db: Address of a PostgreSQL database; each new project gets a schema in it.
        settings: The settings of new projects.
        listening: See `Listening`.
    """
    login_link = LoginLink() if host in HERE and owner is None else None
    db = os.environ.pop(DB_VARIABLE, None) if db is None else db  # projects with their own database must not see it
    if db is not None:
        connect(with_schema(db, "public")).dispose()  # refuses an invalid address
    projects = Host(
        folder,
        TrainerQueue(trainer_slots(trainers)),
        local=host in HERE and not listening.get("behind_proxy"),
        settings=settings or {},
        db=db,
    )
    _run(create_start_app(projects, Operator(password, owner), login_link), login_link, host, None, **listening)


def _run(
    app: FastAPI,
    login_link: LoginLink | None,
    host: str,
    background: Background | None,
    port: int | None = None,
    browser: bool = False,
    behind_proxy: bool = False,
    sign_in_header: str | None = None,
    announce: Callable[[str], object] = print,
) -> None:
    """Run the server until it is interrupted."""
    # A request waits for the database several times, and then for the thread that computes meanwhile.
    sys.setswitchinterval(_SWITCH_SECONDS)
    server = uvicorn.Server(server_config(app, behind_proxy, sign_in_header))
    with closing(bind(host, port)) as listening, _ends_on_a_signal(server):
        end = f":{listening.getsockname()[1]}/" + (f"?token={login_link.token}" if login_link else "")
        links = [f"http://{_shown(name)}{end}" for name in names(host)]
        try:
            for link in links:
                announce(link)
            # The socket listens already, so an early browser just waits.
            if browser:
                threading.Thread(target=webbrowser.open, args=links[-1:], daemon=True).start()
            if background is not None:
                background.start()
            # uvicorn shuts down on a signal, then raises it again.
            server.run(sockets=[listening])
        finally:
            if background is not None:
                background.stop()


def server_config(app: FastAPI, behind_proxy: bool, sign_in_header: str | None = None) -> uvicorn.Config:
    """Configure uvicorn. Proxy headers are trusted only on request, from this machine or FORWARDED_ALLOW_IPS."""
    return uvicorn.Config(
        ProxyHeaders(app, Proxies.of_environment(), sign_in_header) if behind_proxy else app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        proxy_headers=False,  # uvicorn's own trusts the first address, which any client can forge
    )


@contextmanager
def _ends_on_a_signal(server: uvicorn.Server) -> Iterator[None]:
    """End the block on SIGINT and SIGTERM, also if the parent shell ignores SIGINT in its background jobs.

    The server is told, too: Python swallows a KeyboardInterrupt that is raised in a finalizer or a callback.
    """
    came = False

    def interrupt(*_: object) -> NoReturn:
        nonlocal came
        came = server.should_exit = True
        raise KeyboardInterrupt

    before = {how: signal.signal(how, interrupt) for how in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        pass
    except RuntimeError:
        if not came:  # an event loop that is interrupted while it begins cannot be closed
            raise
    finally:
        for how, handler in before.items():
            signal.signal(how, handler)


def bind(host: str, port: int | None) -> socket.socket:
    """Open a listening socket; without a port, on the default one or, if that is taken, on any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return _listen(family, host, PORT if port is None else port)
    except (OSError, OverflowError) as error:
        if port is None and isinstance(error, OSError):
            with suppress(OSError):
                return _listen(family, host, 0)
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"`host` {host}, `port` {port or PORT}: this address is not available ({reason}); choose another.",
            field="port",
        ) from error


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


def names(host: str) -> list[str]:
    """Name this machine in links; if it listens on all addresses, the outside name comes first.

    >>> names("127.0.0.1")
    ['127.0.0.1']
    """
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host)
    return [host] if here is None else [_outside(host), here]


def _outside(host: str) -> str:
    """The address that this machine has towards the internet; without a network, its host name."""
    family, far = (socket.AF_INET6, "2001:db8::1") if ":" in host else (socket.AF_INET, "192.0.2.1")
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.connect((far, 9))  # sends nothing: connecting a datagram socket only chooses a route
        return str(asked.getsockname()[0])
    return socket.gethostname()


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def set_owner_password(project: Project, password: str) -> None:
    """Set the owner's password; a new one ends all sessions of the old one."""
    with project.reads() as session:
        owner = project_owner(session)
    if verify_password(password, owner.password):
        return
    kept = hash_password(password)
    with project.sessions.begin() as session:
        change_password(session, owner.number, kept, keep=None if owner.password else "")


def name_owner(project: Project, name: str) -> None:
    """Set the name under which a proxy signs the owner in."""
    with project.sessions.begin() as session:
        change_person(session, project_owner(session).number, name=name)


def has_owner_password(project: Project) -> bool:
    """Whether the owner has a password."""
    with project.reads() as session:
        return project_owner(session).password is not None
