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
from hybridal.app.people import change_password, change_person, hash_password, password_fits, project_owner
from hybridal.app.project import DB_VARIABLE, Project
from hybridal.app.trainer.supervisor import Supervisor
from hybridal.app.trainer.trainer_queue import TrainerQueue, trainer_slots
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.host import Host
from hybridal.app.web.operator import Operator
from hybridal.app.web.proxy import Proxies, ProxyHeaders
from hybridal.app.web.start import create_start_app
from hybridal.app.web.web_app import create_app
from hybridal.errors import UserError

PORT = 8420
HERE = ("127.0.0.1", "localhost", "::1")
_TURN = 0.0005  # seconds that a thread computes before another's turn


class Background(Protocol):
    """Work beside the pages."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Listening(TypedDict, total=False):
    """Where to listen, and how. `behind_proxy`: who asks, and whether by https, is what a proxy says in its headers.

    Otherwise anybody could say it. With a `sign_in_header`, the proxy signs people in, and says there who it is; then
    nobody has a password or a link.
    """

    port: int | None
    browser: bool
    behind_proxy: bool
    sign_in_header: str | None
    announce: Callable[[str], object]


def serve(
    project: Project, *, host: str = HERE[0], background: Background | None = None, **listening: Unpack[Listening]
) -> None:
    """One project. On this machine alone, a link lets the owner in; elsewhere everybody has a password."""
    login_link = LoginLink() if host in HERE and listening.get("sign_in_header") is None else None
    app = create_app(project, login_link)
    app.state.local &= not listening.get("behind_proxy")  # whom a proxy lets through comes from anywhere
    project.owner_is_operator = app.state.local
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
    """All projects in a folder. Who starts it comes in by a link, a password or, named as `owner`, through the proxy.

    `db` is for projects that have a schema there, as all have that are made now; `settings` are those of new ones.
    """
    login_link = LoginLink() if host in HERE and owner is None else None
    db = os.environ.pop(DB_VARIABLE, None) if db is None else db  # not for projects that have their own
    if db is not None:
        connect(with_schema(db, "public")).dispose()  # refuses what is no address
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
    """Until it is interrupted."""
    # A request waits for its database several times, and each time for the thread that computes meanwhile.
    sys.setswitchinterval(_TURN)
    with closing(bind(host, port)) as listening, _ends_on_a_signal():
        end = f":{listening.getsockname()[1]}/" + (f"?token={login_link.token}" if login_link else "")
        links = [f"http://{_shown(name)}{end}" for name in names(host)]
        try:
            for link in links:
                announce(link)
            # The socket listens already: a browser that is early waits.
            if browser:
                threading.Thread(target=webbrowser.open, args=links[-1:], daemon=True).start()
            if background is not None:
                background.start()
            # It ends its work on a signal, then raises it again, which is on its way out then.
            uvicorn.Server(server_config(app, behind_proxy, sign_in_header)).run(sockets=[listening])
        finally:
            if background is not None:
                background.stop()


def server_config(app: FastAPI, behind_proxy: bool, sign_in_header: str | None = None) -> uvicorn.Config:
    """A proxy's headers count only when asked for, from this machine or the addresses in FORWARDED_ALLOW_IPS."""
    return uvicorn.Config(
        ProxyHeaders(app, Proxies.of_environment(), sign_in_header) if behind_proxy else app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        proxy_headers=False,  # uvicorn's own would believe the first address, which anybody may have written
    )


@contextmanager
def _ends_on_a_signal() -> Iterator[None]:
    """SIGINT and SIGTERM alike end what is inside; also where a script that started this in its background has had
    SIGINT ignored.
    """
    came = False

    def interrupt(*_: object) -> NoReturn:
        nonlocal came
        came = True
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
    """A socket that listens; without a port, on the usual one or, where that is taken, on any."""
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
    """What to call this machine in a link: if it listens on all its addresses, first for others and then here.

    >>> names("127.0.0.1")
    ['127.0.0.1']
    """
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host)
    return [host] if here is None else [_outside(host), here]


def _outside(host: str) -> str:
    """The address from which this machine would talk to others; without a network, its name."""
    family, far = (socket.AF_INET6, "2001:db8::1") if ":" in host else (socket.AF_INET, "192.0.2.1")
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.connect((far, 9))  # sends nothing: a datagram socket only looks up its way
        return str(asked.getsockname()[0])
    return socket.gethostname()


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def set_owner_password(project: Project, password: str) -> None:
    """The password with which the owner signs in; another one than before ends all that was opened with that."""
    with project.reads() as session:
        owner = project_owner(session)
    if password_fits(password, owner.password):
        return
    kept = hash_password(password)
    with project.sessions.begin() as session:
        change_password(session, owner.number, kept, keep=None if owner.password else "")


def name_owner(project: Project, name: str) -> None:
    """Under which name a proxy signs the owner in."""
    with project.sessions.begin() as session:
        change_person(session, project_owner(session).number, name=name)


def has_owner_password(project: Project) -> bool:
    """Whether the owner can sign in with one."""
    with project.reads() as session:
        return project_owner(session).password is not None
