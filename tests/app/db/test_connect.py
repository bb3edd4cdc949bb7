from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import InternalError, OperationalError, SQLAlchemyError

from hybridal.app.db.connect import WriterLock, connect, durable_later, exclusive
from hybridal.app.db.schema import Tally
from hybridal.app.project import Project
from hybridal.errors import UserError
from tests.helpers.waiting import wait_until

from ..made_up import make


def test_writers_are_served_first_come_first_served(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "writer_lock")
    came: list[str] = []

    def work(name: str) -> None:
        lock.acquire()
        came.append(name)
        lock.release()

    lock.acquire()
    waiting = []
    for name in "abcde":
        last = lock._last
        waiting.append(threading.Thread(target=work, args=(name,)))
        waiting[-1].start()
        wait_until(lambda last=last: lock._last is not last)  # type: ignore[misc]
    lock.release()
    work("again")
    for thread in waiting:
        thread.join(60)
    assert came == [*"abcde", "again"]


def hold(file: Path, has: Event, may_end: Event) -> None:
    lock = WriterLock(file)
    lock.acquire()
    has.set()
    may_end.wait(60)


def test_another_process_waits_too_and_its_death_is_the_end_of_its_turn(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    has, may_end = fork.Event(), fork.Event()
    other = fork.Process(target=hold, args=(tmp_path / "writer_lock", has, may_end))
    other.start()
    assert has.wait(60)
    lock, came = WriterLock(tmp_path / "writer_lock"), threading.Event()

    def wait() -> None:
        lock.acquire()
        came.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not came.wait(0.05)
    other.kill()
    thread.join(60)
    assert came.is_set()
    lock.release()
    other.join(60)


def test_threads_take_turns_without_a_lock_file(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "nowhere" / "writer_lock")
    for _ in range(2):
        lock.acquire()
        lock.release()


def test_sqlite_is_durable_and_lets_readers_pass(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path}/x.db")
    with engine.connect() as connection:
        found = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
        assert found == ["wal", 2]
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
    engine.dispose()


def test_replaced_database_file_is_not_used(tmp_path: Path) -> None:
    project, other = make(tmp_path / "p"), make(tmp_path / "q")
    other.close()
    with project.reads() as session:  # holds the only connection there is
        assert session.scalar(select(Tally.texts)) == 20
        (tmp_path / "p").rename(tmp_path / "gone")
        (tmp_path / "q").rename(tmp_path / "p")
        with pytest.raises(OperationalError, match="another database"), project.sessions.begin() as late:
            late.execute(update(Tally).values(texts=99))
    with project.sessions.begin() as session:  # the old connection still leads to the old database
        session.execute(update(Tally).values(texts=7))
    project.close()
    found = []
    for name in ("gone", "p"):
        with closing(Project.open(tmp_path / name)) as opened, opened.reads() as session:
            found.append(session.scalar(select(Tally.texts)))
    assert found == [7, 20]


def test_a_reader_neither_waits_for_a_writer_nor_sees_half_of_its_work(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    with project.sessions.begin() as writer:
        writer.execute(update(Tally).values(texts=99))
        with project.reads() as reader:
            assert reader.scalar(select(Tally.texts)) == 20
    with project.reads() as reader:
        assert reader.scalar(select(Tally.texts)) == 99
    project.close()


@pytest.mark.postgres
def test_a_session_that_only_reads_cannot_write_in_postgresql(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    with pytest.raises(InternalError, match="read-only"), project.reads() as session:
        session.execute(update(Tally).values(texts=99))
    project.close()


@pytest.mark.postgres
def test_postgresql_has_statistics_from_the_start_and_commits_durably_by_default(
    tmp_path: Path, empty_postgres: str
) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    waits = text("SHOW synchronous_commit")
    with project.sessions.begin() as session:
        assert session.scalar(text("SELECT reltuples FROM pg_class WHERE oid = 'texts'::regclass")) > 0
        durable_later(session)
        assert session.scalar(waits) == "off"
    with project.sessions.begin() as session:
        assert session.scalar(waits) == "on"
    project.close()


@pytest.mark.postgres
def test_postgresql_compiles_no_query(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    for sessions in (project.sessions, project.reads):
        with sessions() as session:
            assert session.scalar(text("SHOW jit")) == "off"
    project.close()


@pytest.mark.postgres
@pytest.mark.parametrize("just", [0.0, 60.0])
def test_a_server_that_ended_its_connections_costs_new_ones_and_no_error(
    just: float, tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridal.app.db.connect._FRESH_SECONDS", just)
    project = make(tmp_path / "p", db=empty_postgres)
    pid, end = text("SELECT pg_backend_pid()"), text("SELECT pg_terminate_backend(:pid, 5000)")
    with project.reads() as one, project.reads() as other:
        kept, ended = one.scalar(pid), other.scalar(pid)
    with project.reads() as one:
        one.execute(end, {"pid": ended})
    seen = set()
    for _ in range(3):
        with project.reads() as one, project.reads() as other:
            seen |= {one.scalar(pid), other.scalar(pid)}
    assert kept in seen
    assert ended not in seen
    assert len(seen) == 2
    project.close()


def test_writers_take_turns(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    inside, most = 0, 0
    lock = threading.Lock()

    def work(_: int) -> None:
        nonlocal inside, most
        with project.sessions.begin() as session:
            exclusive(session)
            with lock:
                inside += 1
                most = max(most, inside)
            texts = session.scalar(select(Tally.texts)) or 0
            session.execute(update(Tally).values(texts=texts + 1))
            session.flush()
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    with project.reads() as session:
        assert (most, session.scalar(select(Tally.texts))) == (1, 60)
    project.close()


def test_a_failed_transaction_gives_its_turn_back(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    with pytest.raises(ZeroDivisionError), project.sessions.begin():
        _ = 1 / 0
    with project.sessions.begin() as session:
        session.execute(update(Tally).values(texts=1))
    project.close()


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_another_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="`db`") as told:
        connect(url)
    assert told.value.field == "db"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg//al:top-secret@host/x",
        "postgresql+psycopg://al:top-secret@host:port/x",
        "postgresql+no_progress://al:top-secret@host/x",
    ],
)
def test_error_of_a_mistyped_address_hides_its_password(url: str) -> None:
    with pytest.raises(UserError, match="`db`") as told:
        connect(url)
    assert "secret" not in str(told.value)


def test_an_error_holds_no_values(tmp_path: Path, db: str | None) -> None:
    """It goes to the log, where secrets and texts have no place."""
    project = make(tmp_path / "p", db=db)
    with pytest.raises(SQLAlchemyError) as failed, project.sessions.begin() as session:
        session.execute(text("INSERT INTO nowhere VALUES (:secret)"), {"secret": "whsec_x"})
    assert "whsec_x" not in str(failed.value)
    project.close()
