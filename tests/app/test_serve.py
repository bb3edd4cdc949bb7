from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from sqlalchemy import create_engine, event, select, text

from hybridal.app.api_tokens import find_token, make_token
from hybridal.app.db.schema import Annotation
from hybridal.app.people import User, find_session, project_owner, sign_in
from hybridal.app.project import Project
from hybridal.app.serve import bind, has_owner_password, names, serve, server_config, set_owner_password
from hybridal.errors import UserError

from .made_up import check_books, make, me
from .web.visits import local, signed_in

LIMIT = 120.0  # seconds that anything here may take on a busy machine


class QuietTrainer:
    """A trainer that only reports its calls."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def start(self) -> None:
        self.tell("trainer started")

    def stop(self) -> None:
        self.tell("trainer stopped")


def run(folder: Path, tell: Callable[[str], None], ignored: bool, trainer: type[QuietTrainer] = QuietTrainer) -> None:
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Project.open(folder), port=0, announce=tell, background=trainer(tell))
    tell("the end")


@dataclass(frozen=True)
class Served:
    """A server in a separate process, its messages, and a signed-in browser."""

    process: BaseProcess
    told: Connection
    client: httpx.Client

    def hear(self) -> str:
        return heard(self.told)

    def kill(self, how: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, how)


def heard(told: Connection) -> str:
    assert told.poll(LIMIT), "it printed nothing"
    return str(told.recv())


@contextmanager
def served(folder: Path, ignored: bool = False) -> Iterator[Served]:
    """With `ignored`, as a script starts it in its background: interrupts are ignored to begin with."""
    # Forked, since a fresh process takes seconds to import all this.
    context = multiprocessing.get_context("fork")
    told, tell = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(folder, tell.send, ignored))
    process.start()
    tell.close()
    try:
        address = heard(told)
        with httpx.Client(base_url=address.partition("?")[0], timeout=30) as client:
            client.get(address)
            client.headers["X-CSRF-Token"] = client.get("/api/project").json()["csrf_token"]
            yield Served(process, told, client)
    finally:
        process.kill()
        process.join(LIMIT)


@pytest.mark.parametrize("ignored", [False, True], ids=["in front", "in the background of a script"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_trainer_too(tmp_path: Path, how: signal.Signals, ignored: bool) -> None:
    make(tmp_path / "p").close()
    with served(tmp_path / "p", ignored) as server:
        server.kill(how)
        assert [server.hear() for _ in range(3)] == ["trainer started", "trainer stopped", "the end"]
        server.process.join(LIMIT)
        assert server.process.exitcode == 0
    assert not (tmp_path / "p" / "labels.db-wal").exists()


class Hasty(QuietTrainer):
    """Interrupts its server before that has begun to serve."""

    def start(self) -> None:
        super().start()
        os.kill(os.getpid(), signal.SIGINT)


class Swallowing(QuietTrainer):
    """Loses the interrupt, as Python does if it comes during a finalizer."""

    def start(self) -> None:
        super().start()
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(LIMIT)


@pytest.mark.parametrize("trainer", [Hasty, Swallowing])
def test_an_early_interrupt_ends_a_server_in_the_background_of_a_script_too(
    tmp_path: Path, trainer: type[QuietTrainer]
) -> None:
    make(tmp_path / "p").close()
    context = multiprocessing.get_context("fork")
    told, tell = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(tmp_path / "p", tell.send, True, trainer))
    process.start()
    try:
        assert heard(told).startswith("http://")
        assert [heard(told) for _ in range(3)] == ["trainer started", "trainer stopped", "the end"]
    finally:
        process.kill()
        process.join(LIMIT)


def test_killing_the_web_server_loses_no_label_and_doubles_none(tmp_path: Path) -> None:
    make(tmp_path / "p", texts=2000).close()
    acknowledged: set[str] = set()
    sent = 0
    for life in range(3):
        with served(tmp_path / "p") as server:
            threading.Timer(0.3 + 0.1 * life, server.kill, [signal.SIGKILL]).start()
            with suppress(httpx.HTTPError):
                while True:
                    # What was not acknowledged is sent again, with the same key.
                    answer = server.client.post(
                        "/api/annotations",
                        json={"key": f"k{sent}", "text": f"t{sent}", "action": "label", "class": "abc"[sent % 3]},
                    )
                    assert answer.status_code == 200
                    acknowledged.add(f"k{sent}")
                    sent += 1
            server.process.join(LIMIT)
            assert server.process.exitcode == -signal.SIGKILL
    assert sent > 3
    project = Project.open(tmp_path / "p")
    with project.reads() as session:
        found = Counter(session.scalars(select(Annotation.key)))
        check_books(session)
    assert set(found.values()) == {1}
    assert acknowledged <= set(found) <= acknowledged | {f"k{sent}"}
    project.close()


@pytest.mark.postgres
def test_a_database_that_drops_its_connections_loses_no_label(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    visit = signed_in(local(project), me(project))
    outside = create_engine(empty_postgres, isolation_level="AUTOCOMMIT")
    answers = 0

    @event.listens_for(project.engine, "after_cursor_execute")
    def drop(connection, cursor, statement, parameters, context, many):  # type: ignore[no-untyped-def]
        """Every other answer loses its connection before the commit, with all others that are open."""
        nonlocal answers
        if statement.startswith("UPDATE tally"):
            answers += 1
            with outside.connect() as other:
                end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                other.execute(text(f"{end} AND datname = current_database() AND {answers % 2} = 0"))

    statuses: Counter[int] = Counter()
    for number in range(10):
        sent = {"key": f"k{number}", "text": f"t{number}", "action": "label", "class": "a"}
        while (status := visit.post("/api/annotations", sent).status_code) != 200:
            statuses[status] += 1
            assert statuses.total() < 50
    outside.dispose()
    assert statuses[503] > 3
    assert set(statuses) <= {503}
    with project.reads() as session:
        assert sorted(session.scalars(select(Annotation.key))) == sorted(f"k{number}" for number in range(10))
        check_books(session)
    project.close()


def test_taken_port_is_reported_and_the_default_port_is_replaced() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"`port` {port}: this address is not available"):
            bind("127.0.0.1", port)
    with pytest.raises(UserError, match="`host` 203"):
        bind("203.0.113.7", None)
    with bind("127.0.0.1", None) as first, bind("127.0.0.1", None) as second:
        assert first.getsockname() != second.getsockname()
        assert first.proto == socket.IPPROTO_TCP  # see there


@pytest.mark.parametrize(("host", "here"), [("0.0.0.0", "127.0.0.1"), ("::", "::1")])
def test_a_link_for_others_does_not_name_every_address_at_once(host: str, here: str) -> None:
    outside, local = names(host)
    assert local == here
    assert outside not in (host, "")
    assert names("192.0.2.7") == ["192.0.2.7"]


def test_machine_name_is_announced_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(socket.socket, "connect", unreachable)
    assert names("0.0.0.0") == [socket.gethostname(), "127.0.0.1"]


@pytest.mark.usefixtures("quick_hashes")
def test_the_owners_password_is_set_once_and_kept(project: Project) -> None:
    assert not has_owner_password(project)
    set_owner_password(project, "correct horse")
    assert has_owner_password(project)
    with pytest.raises(UserError):
        set_owner_password(project, "short")


@pytest.mark.usefixtures("quick_hashes")
def test_another_password_ends_what_was_opened_with_the_old_one(project: Project) -> None:
    with project.sessions.begin() as session:
        user = User(project_owner(session), "", "")
        _, token = make_token(session, user, "a program", "owner")
    set_owner_password(project, "correct horse")  # the first one: nothing was opened with another
    with project.sessions.begin() as session:
        cookie = sign_in(session, project_owner(session))
    for password, still_in in (("correct horse", True), ("battery staple", False)):
        set_owner_password(project, password)
        with project.reads() as session:
            assert (find_session(session, cookie) is not None) is still_in
            assert (find_token(session, token) is not None) is still_in


def test_the_app_can_be_imported_on_systems_without_posix_locks() -> None:
    script = "import sys; sys.modules['fcntl'] = None; import hybridal.app.serve, hybridal.app.trainer.__main__"
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=LIMIT
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("behind_proxy", [False, True])
def test_client_address_comes_from_headers_only_behind_a_proxy(behind_proxy: bool) -> None:
    async def tell(scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": f"{scope['client'][0]} {scope['scheme']}".encode()})

    config = server_config(tell, behind_proxy)  # type: ignore[arg-type]
    config.load()
    transport = httpx.ASGITransport(config.loaded_app, client=("127.0.0.1", 1))

    async def ask() -> str:
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            headers = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
            return (await client.get("/", headers=headers)).text

    assert anyio.run(ask) == ("203.0.113.9 https" if behind_proxy else "127.0.0.1 http")


@pytest.mark.parametrize(
    ("listening", "trusted"),
    [({}, True), ({"host": "0.0.0.0"}, False), ({"behind_proxy": True}, False)],
)
def test_owner_is_the_operator_only_on_a_local_server(
    project: Project, monkeypatch: pytest.MonkeyPatch, listening: dict[str, Any], trusted: bool
) -> None:
    monkeypatch.setattr("hybridal.app.serve._run", lambda *_, **__: None)
    serve(project, **listening)
    assert (project.owner_is_operator, project.asks_before_sending) == (trusted, trusted)
