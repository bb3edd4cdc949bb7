"""PostgreSQL hears in one go what nobody waits for: statements whose results nobody looks at, and the commit.

Each answer of a server costs its way there and back, and on a busy machine the turns of two processes and a thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError

UNAWAITED = {"unawaited": True}
"""Options of a statement that is not waited for until another is, or the transaction ends: its errors are told then."""


def pipeline_writes(engine: Engine) -> None:
    """Lets the connections of an engine do so, where their driver can."""
    driver: Any = engine.dialect.dbapi
    if engine.dialect.driver != "psycopg" or not driver.Pipeline.is_supported():
        return
    pipelines: WeakKeyDictionary[Any, AbstractContextManager[Any]] = WeakKeyDictionary()

    def collect(connection: Any) -> None:
        """Waits for what was sent; an error of any of it is raised here."""
        if pipeline := pipelines.pop(connection, None):
            pipeline.__exit__(None, None, None)

    @event.listens_for(engine, "do_execute")
    @event.listens_for(engine, "do_executemany")
    def before(cursor: Any, statement: str, parameters: Any, context: Any) -> None:  # noqa: ARG001
        connection = cursor.connection
        if not context.execution_options.get("unawaited"):
            collect(connection)
        elif connection not in pipelines:
            pipelines[connection] = connection.pipeline()
            pipelines[connection].__enter__()

    @event.listens_for(engine, "commit")
    def commit(connection: Connection) -> None:
        sending: Any = connection.connection.driver_connection
        if sending not in pipelines:
            return
        try:
            sending.execute("COMMIT")
            collect(sending)
        except driver.Error as error:
            raise DBAPIError.instance(None, None, error, driver.Error, dialect=engine.dialect) from error

    @event.listens_for(engine, "rollback")
    def rollback(connection: Connection) -> None:
        with suppress(driver.Error):
            collect(connection.connection.driver_connection)
