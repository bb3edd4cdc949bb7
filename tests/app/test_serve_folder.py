"""A server of several projects in a separate process, which is killed or stopped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Annotation
from hybridal.app.project import Project
from hybridal.app.serve import serve_folder
from hybridal.app.trainer import supervisor

from .made_up import check_books, make
from .processes import lives

LIMIT = 120.0
HOLDS = "from hybridal.app.trainer.lifetime import watch_parent; import os; print(os.getpid(), flush=True); "
HOLDS += "watch_parent().wait()"


def run(folder: Path, tell: Callable[[str], None]) -> None:
    # A trainer that only says its number, and leaves when others wait.
    supervisor.command = lambda project: [sys.executable, "-c", HOLDS]
    serve_folder(folder, port=0, trainers=1, announce=tell)
    tell("the end")


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, httpx.Client, Connection]]:
    """Its process id, the operator's browser, and its messages."""
    context = multiprocessing.get_context("fork")
    told, tell = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(folder, tell.send))
    process.start()
    tell.close()
    try:
        assert told.poll(LIMIT)
        link = told.recv()
        assert process.pid is not None
        with httpx.Client(base_url=link.partition("/?")[0], timeout=30, follow_redirects=True) as client:
            client.get(link)
            yield process.pid, client, told
    finally:
        process.kill()
        process.join(LIMIT)


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def trainers(folder: Path) -> set[int]:
    """The numbers of all trainers that were ever started and live."""
    pids = [int(line) for log in folder.glob("*/trainer.log") for line in log.read_text().split()]
    return {pid for pid in pids if lives(pid)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        make(tmp_path / "all" / name).close()
    return tmp_path / "all"


def test_a_server_that_is_killed_loses_no_label_of_any_project_and_leaves_no_trainer(folder: Path) -> None:
    acknowledged: dict[str, set[str]] = {"a": set(), "b": set()}
    for life in range(2):
        with served(folder) as (pid, client, _):
            for name in acknowledged:
                until(lambda name=name: client.get(f"/open/{name}").url.path == f"/p/{name}/")  # type: ignore[misc]
            csrf_tokens = {name: client.get(f"/p/{name}/api/project").json()["csrf_token"] for name in acknowledged}
            until(lambda: trainers(folder))
            with suppress(httpx.HTTPError):
                for number in range(4):
                    for name, sent in acknowledged.items():
                        key = f"{life}-{number}"
                        body = {"key": key, "text": f"t{4 * life + number}", "action": "label", "class": "a"}
                        answer = client.post(
                            f"/p/{name}/api/annotations", json=body, headers={"X-CSRF-Token": csrf_tokens[name]}
                        )
                        assert answer.status_code == 200
                        sent.add(key)
            os.kill(pid, signal.SIGKILL)
            until(lambda: not trainers(folder))
    for name, sent in acknowledged.items():
        project = Project.open(folder / name)
        with project.reads() as session:
            assert set(session.scalars(select(Annotation.key))) == sent
            check_books(session)
        project.close()
        assert len(sent) == 8


def test_an_interrupt_lets_all_projects_go(folder: Path) -> None:
    with served(folder) as (pid, client, told):
        until(lambda: client.get("/open/b").url.path == "/p/b/")
        until(lambda: len(trainers(folder)) == 1)  # one at a time
        os.kill(pid, signal.SIGINT)
        assert told.poll(LIMIT)
        assert told.recv() == "the end"
        assert not trainers(folder)
    assert not [*folder.glob("*/labels.db-wal")]
