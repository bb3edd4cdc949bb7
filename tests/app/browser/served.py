"""The app in a thread of this process: quick to start, and its project is accessible."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy import select

from hybridal.app.db.schema import Annotation, Text
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.app.serve import HERE, bind, server_config
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.web_app import create_app

from .. import on_postgres
from ..copies import copied


@dataclass(frozen=True)
class Served:
    """A project and the address of its app; `link` signs its owner in, once."""

    project: Project
    address: str
    link: str

    def answers(self) -> list[tuple[str, str]]:
        """Texts and actions of the annotations, in the order of their rows."""
        with self.project.reads() as session:
            found = session.execute(select(Text.id, Annotation.action).join(Annotation).order_by(Annotation.number))
            return [(id, action) for id, action in found]


@contextmanager
def served(
    folder: Path,
    texts: Iterable[str] = (),
    classes: Iterable[str] = ("a", "b", "c"),
    sign_in_header: str | None = None,
    **settings: Any,
) -> Iterator[Served]:
    """Serves a new project of these texts, or of twenty short ones; with a `sign_in_header` as behind a proxy."""
    make = _making(tuple(texts) or tuple(f"text {i}" for i in range(20)), tuple(classes))
    if on_postgres.database is None:
        project = copied(make, folder, **settings)
    else:
        project = make(folder, db=on_postgres.database, in_schema=True, **settings)
    project.owner_is_operator = sign_in_header is None
    login_link, listening = LoginLink(), _listening().dup()
    address = f"http://{HERE[0]}:{listening.getsockname()[1]}"
    assert _free.acquire(blocking=False), "another app is served there"
    app = create_app(project, None if sign_in_header else login_link)
    server = uvicorn.Server(server_config(app, sign_in_header is not None, sign_in_header))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Served(project, address, f"{address}/?token={login_link.token}")
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listening.close()
        project.close()
        _free.release()


_free = threading.Lock()


@cache
def _listening() -> socket.socket:
    """One after the other, all apps are served at one address: a browser that was there before has their scripts."""
    return bind(HERE[0], 0)


@cache
def _making(bodies: tuple[str, ...], classes: tuple[str, ...]) -> Callable[..., Project]:
    rows = [(f"t{i}", body, None) for i, body in enumerate(bodies)]
    return partial(Project.create, Source("made up", rows, classes))
