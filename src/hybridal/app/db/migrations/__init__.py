"""Brings a database to the tables of this version."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from hybridal.app.db.connect import exclusive
from hybridal.errors import UserError

logging.getLogger("alembic").setLevel(logging.WARNING)
log = logging.getLogger(__name__)

_FOLDER = str(Path(__file__).parent)
STEPS = ScriptDirectory(_FOLDER, version_locations=[_FOLDER])


AT_ONCE = 2000
SILENCE = 2.0  # seconds: nobody waits for longer without knowing how far it is


def parts_of_texts(connection: Connection) -> Iterator[dict[str, int]]:
    """The first and the last row of all texts, some at a time; where it takes long, it is told how far it is."""
    last, told = connection.scalar(text("SELECT max(row) FROM texts")) or 0, time.monotonic()
    for first in range(0, last + 1, AT_ONCE):
        yield {"first": first, "last": first + AT_ONCE - 1}
        if time.monotonic() - told >= SILENCE:
            told, done = time.monotonic(), min(1.0, (first + AT_ONCE) / (last + 1))
            # A warning, since whoever started the app sees nothing else of it.
            log.warning("The project is brought up to date for this version of hybridal, once: %.0f%%.", 100 * done)


def migrate(engine: Engine) -> None:
    """Takes all the steps that this database has not taken yet, or none of them."""
    with engine.begin() as connection:
        exclusive(connection)
        _check_known(connection)
        context = MigrationContext.configure(
            connection, opts={"fn": lambda revision, _: STEPS._upgrade_revs("head", revision)}
        )
        with Operations.context(context):
            context.run_migrations()


def _check_known(connection: Connection) -> None:
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision is not None and revision not in {step.revision for step in STEPS.walk_revisions()}:
        raise UserError("The project was last used with a newer version of hybridal; update hybridal to open it.")
