"""Pipelining for PostgreSQL: statements whose results are not needed are sent together with the commit.

Each round trip costs network latency and, on a busy machine, several context switches.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError

PIPELINED = {"pipelined": True}
"""Options of a statement whose result is not needed; the next statement or the commit raises its errors."""


def pipeline_writes(engine: Engine) -> None:
    """Enable pipelining on an engine, if its driver supports it."""
    driver: Any = engine.dialect.dbapi
    if engine.dialect.driver != "psycopg" or not driver.Pipeline.is_supported():
        return
    pipelines: WeakKeyDictionary[Any, AbstractContextManager[Any]] = WeakKeyDictionary()

    def collect(connection: Any) -> None:
        """Wait for the pipelined statements, and raise the error of any of them."""
        if pipeline := pipelines.pop(connection, None):
            pipeline.__exit__(None, None, None)

    @event.listens_for(engine, "do_execute")
    @event.listens_for(engine, "do_executemany")
    def before(cursor: Any, statement: str, parameters: Any, context: Any) -> None:  # noqa: ARG001
        connection = cursor.connection
        if not context.execution_options.get("pipelined"):
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
