"""Connections to the database, SQLite in the project's folder or PostgreSQL: durable commits, and the writer lock."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from filelock import FileLock
from sqlalchemy import Connection, CursorResult, Engine, Executable, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError
from sqlalchemy.orm import Session, sessionmaker

from hybridal.app.db.pipelining import pipeline_writes
from hybridal.errors import UserError
from hybridal.system.files import identity_of

_POLL = 0.002  # seconds between two attempts to lock the file; a transaction takes a few times as long


class WriterLock:
    """A fair lock for writers of this process and of others.

    SQLite's own writers poll with growing pauses, so that one of many may starve. Here the threads of this process
    queue: each waits for the lock of the one before. A locked file excludes other processes.
    """

    def __init__(self, file: Path) -> None:
        self._guard = threading.Lock()
        self._last = self._mine = threading.Lock()
        # A connection may be given back by another thread than the one that took it.
        self._file = FileLock(file, thread_local=False, poll_interval=_POLL)

    def acquire(self) -> None:
        """Wait for the lock. It is released when the process ends, however that happens."""
        mine = threading.Lock()
        mine.acquire()
        with self._guard:
            before, self._last = self._last, mine
        before.acquire()
        self._mine = mine
        try:
            # Without a writable folder or file locks, SQLite reports the error or lets its writers poll.
            with suppress(OSError, NotImplementedError):
                self._file.acquire()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let the next writer in."""
        self._file.release()
        self._mine.release()


Sessions = sessionmaker[Session]

_LOCK_KEY = 0x68796272  # of PostgreSQL's advisory lock; arbitrary

CONNECT_SECONDS = 5
_FRESH_SECONDS = 5.0  # a connection that was used this recently cannot have been dropped by a firewall
# A connection for each thread that handles requests, and some for background work; more are closed after each use.
_POOL: dict[str, Any] = {"pool_size": 20, "max_overflow": 20, "pool_use_lifo": True}


def connect(url: str) -> Engine:
    """Create an engine with durable commits and a single writer at a time."""
    with _readable_address():
        address = make_url(url)
        backend = address.get_backend_name()
        if backend == "sqlite" and address.database not in (None, "", ":memory:"):
            return _sqlite(url, WriterLock(Path(f"{address.database}-lock")))
        if backend == "postgresql":
            return _postgresql(url)
    raise UserError(
        f"`db`: '{backend}' is not supported; leave it out for a SQLite file, or name a PostgreSQL database.",
        field="db",
    )


@contextmanager
def _readable_address() -> Iterator[None]:
    """Refuse what is not an address, without repeating it, since it may contain a password."""
    try:
        yield
    except UserError:
        raise
    except (ArgumentError, ValueError) as error:
        raise UserError(
            "`db`: this is not the address of a database; write postgresql+psycopg://user@host/name.", field="db"
        ) from error


_SCHEMA = re.compile(r"-csearch_path=([a-z_][a-z0-9_]{0,62})")


def with_schema(url: str, schema: str) -> str:
    """Add a schema to the address of a PostgreSQL database; all tables are created there.

    >>> with_schema("postgresql+psycopg://al@localhost/labels", "hybridal_1a2b")
    'postgresql+psycopg://al@localhost/labels?options=-csearch_path%3Dhybridal_1a2b'
    """
    options = f"-csearch_path={schema}"
    with _readable_address():
        address = make_url(url)
    if address.get_backend_name() != "postgresql":
        raise UserError("`db`: only PostgreSQL has schemas; leave it out for a SQLite file a project.", field="db")
    if _SCHEMA.fullmatch(options) is None:
        raise UserError(f"'{schema:.80}' is not the name of a schema; restore project.json from a backup.")
    return address.update_query_dict({"options": options}).render_as_string(hide_password=False)


def writing(engine: Engine) -> Sessions:
    """Create sessions that may write. In SQLite each waits for the writer lock when it begins."""
    return sessionmaker(engine, expire_on_commit=False)


def reading(engine: Engine) -> Sessions:
    """Create sessions that only read: they see one snapshot, and neither wait for writers nor block them."""
    options: dict[str, Any] = {"reads": True}
    if engine.dialect.name == "postgresql":
        options |= {"postgresql_readonly": True, "isolation_level": "REPEATABLE READ"}
    return sessionmaker(engine.execution_options(**options), expire_on_commit=False)


# A lock per schema, so that the projects of one database do not wait for each other.
_LOCK = f"SELECT pg_advisory_xact_lock({_LOCK_KEY}, hashtext(current_schema()))"
_LOCKS = {
    durable: text(_LOCK if durable else f"{_LOCK}, set_config('synchronous_commit', 'off', true)")
    for durable in (True, False)
}


def exclusive(session: Session | Connection, *, durable: bool = True) -> None:
    """Take the project's lock until the transaction ends; in SQLite a writer is alone anyway.

    Args:
        session: A session or connection in a transaction.
        durable: Whether the commit waits for the disk; see `durable_later`.
    """
    connection = session.connection() if isinstance(session, Session) else session
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCKS[durable])


def lock_annotations(session: Session) -> None:
    """Block annotations until the transaction ends; each locks a text first. In SQLite a writer is alone anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("LOCK TABLE texts IN EXCLUSIVE MODE"))


def try_to_lock_annotations(session: Session) -> bool:
    """Block annotations if none is in progress; otherwise return False, so that no one has to wait."""
    if session.get_bind().dialect.name == "postgresql":
        try:
            with session.begin_nested():
                session.execute(text("LOCK TABLE annotations IN SHARE MODE NOWAIT"))
        except OperationalError:
            return False
    return True


def count_texts_again(session: Session) -> None:
    """Update PostgreSQL's statistics after many texts were added; without them it scans all texts for each query.

    Autovacuum would do so only after a minute.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("ANALYZE texts"))


def durable_later(session: Session) -> None:
    """Commit this transaction without waiting for the disk. Not for labels, which must not be lost in a crash.

    It has no effect in SQLite, where every commit waits.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SET LOCAL synchronous_commit TO OFF"))


def execute(session: Session, statement: Executable, **values: Any) -> CursorResult[*tuple[Any, ...]]:
    """Execute a prebuilt statement with these values, which takes a fifth of the time of building it."""
    session.flush()
    return session.connection().execute(statement, values)


def _postgresql(url: str) -> Engine:
    try:
        waits = {"connect_timeout": CONNECT_SECONDS}  # a server that is away must not block all threads
        engine = create_engine(url, hide_parameters=True, connect_args=waits, **_POOL)
    except ModuleNotFoundError as error:
        raise UserError("`db`: install `hybridal[postgres]` to use PostgreSQL.", field="db") from error
    pipeline_writes(engine)
    _replace_closed_connections(engine)
    event.listen(engine, "connect", _without_jit)
    if found := _SCHEMA.fullmatch(str(engine.url.query.get("options", ""))):

        @event.listens_for(engine, "first_connect", once=True)
        def make(connection: Any, record: Any) -> None:  # noqa: ARG001
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {found[1]}")
            connection.commit()

    return engine


def _without_jit(connection: Any, record: Any) -> None:  # noqa: ARG001
    """Switch PostgreSQL's just-in-time compiler off: it would take 70 ms for a query of 5 ms.

    Costs are estimated for all texts, of which our queries need the first few.
    """
    connection.execute("SET jit = off")
    connection.commit()


def _replace_closed_connections(engine: Engine) -> None:
    """Reconnect if the server has closed a connection, for example in a restart.

    A recently used connection is not pinged: data on its socket means that the server has closed it.
    """

    @event.listens_for(engine, "checkin")
    def note(connection: Any, record: Any) -> None:  # noqa: ARG001
        record.info["used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001
        if (used := record.info.get("used")) is None:
            return
        try:
            if time.monotonic() - used > _FRESH_SECONDS:
                engine.dialect.do_ping(connection)
                return
            with DefaultSelector() as listening:
                listening.register(connection, EVENT_READ)
                if not listening.select(0):
                    return
        except engine.dialect.loaded_dbapi.Error:
            pass
        raise DisconnectionError("the server has ended this connection")


def _sqlite(url: str, lock: WriterLock) -> Engine:
    engine = create_engine(url, hide_parameters=True, **_POOL)  # errors are logged: without secrets and texts
    file, opened = Path(str(engine.url.database)), None
    with suppress(OSError):  # SQLite reports it
        file.touch(0o600)  # its log and its index, which it makes later, get the same permissions

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, record: Any) -> None:  # noqa: ARG001
        nonlocal opened
        connection.isolation_level = None  # otherwise the driver begins transactions itself, too late
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}")
        # A folder may be moved and another take its name; never write the data of one into the other.
        opened = opened or identity_of(file)
        if identity_of(file) != opened:
            connection.close()
            raise sqlite3.OperationalError("another database is at this address by now")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("reads"):
            connection.exec_driver_sql("BEGIN")
            return
        if not connection.info.get("writer_lock"):
            lock.acquire()
            connection.info["writer_lock"] = True
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    @event.listens_for(engine, "checkin")
    def end(connection: Any, record: Any) -> None:  # noqa: ARG001
        if record.info.pop("writer_lock", False):
            lock.release()

    return engine
