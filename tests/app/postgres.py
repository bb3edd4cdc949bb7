"""A real PostgreSQL server for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import find_and_lock
from hybridal.app.people import project_owner
from hybridal.app.project import Project

USER = "postgres"


def program(name: str) -> str | None:
    """A program of PostgreSQL; Debian keeps them out of the way."""
    usual = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(usual[-1]) if usual else shutil.which(name)


@contextmanager
def server() -> Iterator[str]:
    """The address of a server, without the name of a database."""
    # Not in pytest's own folder: the server's user, which is not root, could not go there.
    folder = Path(tempfile.mkdtemp(prefix="hybridal-postgres-"))
    as_user: list[str] = []
    if os.getuid() == 0:
        shutil.chown(folder, USER)
        as_user = ["runuser", "-u", USER, "--"]
    port = _free_port()
    start = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    data = ["-D", str(folder / "data")]

    def call(name: str, *arguments: str) -> None:
        command = [*as_user, program(name) or name, *data, *arguments]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    try:
        call("initdb", "-U", "al", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        call("pg_ctl", "-w", "-o", start, "start")
        try:
            yield f"postgresql+psycopg://al@127.0.0.1:{port}/"
        finally:
            call("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def while_waiting(project: Project, text_id: str, act: Callable[[], bool]) -> None:
    """A transaction locks a text, `act` waits for the lock, the transaction commits, and both succeed."""
    with ThreadPoolExecutor(1) as pool:
        with project.sessions.begin() as session:
            find_and_lock(session, text_id)
            acting = pool.submit(act)
            waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
            while not session.scalar(waiting):
                assert not acting.done(), acting.result()
            annotate(session, project_owner(session), text_id, "label", class_name="bug", flagged=True, key="meanwhile")
        assert acting.result(30)


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port
