"""Brings a database to the tables of this version."""

from __future__ import annotations

import logging
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from hybridal.app.db.connect import exclusive
from hybridal.errors import UserError

logging.getLogger("alembic").setLevel(logging.WARNING)

_FOLDER = str(Path(__file__).parent)
STEPS = ScriptDirectory(_FOLDER, version_locations=[_FOLDER])


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
