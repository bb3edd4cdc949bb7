"""A connection to the project's database: SQLite in its folder, or PostgreSQL by its address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, CursorResult, Engine, Executable, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, sessionmaker

from hybridal.app.db.turn import Turn
from hybridal.errors import UserError

Sessions = sessionmaker[Session]

_QUEUE = 0x68796272  # any number, as long as nothing else in this database uses it

# As many as there are threads that answer requests: a connection that is one too many is closed after each use.
_POOL: dict[str, Any] = {"pool_size": 40, "max_overflow": 20, "pool_use_lifo": True}


def connect(url: str) -> Engine:
    """An engine whose transactions are durable when they are committed, and of which only one writes at a time."""
    try:
        address = make_url(url)
        backend = address.get_backend_name()
        if backend == "sqlite" and address.database not in (None, "", ":memory:"):
            return _sqlite(url, Turn(Path(f"{address.database}-turn")))
        if backend == "postgresql":
            return _postgresql(url)
    except (ArgumentError, ValueError) as error:
        # Not repeated here: it may hold a password.
        raise UserError(
            "--db: this is not the address of a database; write postgresql+psycopg://user@host/name."
        ) from error
    raise UserError(f"--db: '{backend}' will not do; leave --db away for a SQLite file, or name a PostgreSQL database.")


def writing(engine: Engine) -> Sessions:
    """Sessions for whatever may write. In SQLite each waits for its turn when it begins, not when it first writes."""
    return sessionmaker(engine, expire_on_commit=False)


def reading(engine: Engine) -> Sessions:
    """Sessions that only read: they see one moment, wait for nobody, and nobody waits for them."""
    options: dict[str, Any] = {"reads": True}
    if engine.dialect.name == "postgresql":
        options |= {"postgresql_readonly": True, "isolation_level": "REPEATABLE READ"}
    return sessionmaker(engine.execution_options(**options), expire_on_commit=False)


def alone(session: Session | Connection) -> None:
    """From here to its end, no other transaction that asks to be alone goes on. In SQLite a writer always is."""
    connection = session.connection() if isinstance(session, Session) else session
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _QUEUE})


def no_answers(session: Session) -> None:
    """From here to its end, nobody answers: whoever does locks a text first. In SQLite a writer always is alone."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("LOCK TABLE texts IN EXCLUSIVE MODE"))


def run(session: Session, statement: Executable, **values: Any) -> CursorResult[*tuple[Any, ...]]:
    """Executes a statement that was built once, with these values: a fifth of the work of building it each time."""
    session.flush()
    return session.connection().execute(statement, values)


def _postgresql(url: str) -> Engine:
    try:
        # pre_ping: a server that was restarted costs a new connection, not an error.
        return create_engine(url, pool_pre_ping=True, **_POOL)
    except ModuleNotFoundError as error:
        raise UserError("--db: install `hybridal[postgres]` to use PostgreSQL.") from error


def _sqlite(url: str, turn: Turn) -> Engine:
    engine = create_engine(url, **_POOL)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, record: Any) -> None:  # noqa: ARG001
        connection.isolation_level = None  # the driver would begin transactions by itself, and too late
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("reads"):
            connection.exec_driver_sql("BEGIN")
            return
        if not connection.info.get("turn"):
            turn.take()
            connection.info["turn"] = True
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    @event.listens_for(engine, "checkin")
    def end(connection: Any, record: Any) -> None:  # noqa: ARG001
        if record.info.pop("turn", False):
            turn.give()

    return engine
