"""Creates the tables of a new database, and brings those of an older version up to date."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import Base
from hybridal.errors import UserError

logging.getLogger("alembic").setLevel(logging.WARNING)

_FOLDER = str(Path(__file__).parent)
MIGRATIONS = ScriptDirectory(_FOLDER, version_locations=[_FOLDER])
_UNPUBLISHED = re.compile(r"0\d\d")  # revisions from before the first release, whose tables had other names


def migrate(engine: Engine) -> None:
    """Run all missing migrations in one transaction.

    Args:
        engine: The project's database.

    Raises:
        UserError: A newer version of hybridal, or one from before the first release, created the tables.
    """
    with engine.begin() as connection:
        exclusive(connection)
        _check_revision(connection)
        context = MigrationContext.configure(
            connection, opts={"fn": lambda revision, _: MIGRATIONS._upgrade_revs("head", revision)}
        )
        with Operations.context(context):
            context.run_migrations()


def _check_revision(connection: Connection) -> None:
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision is None or revision in {step.revision for step in MIGRATIONS.walk_revisions()}:
        return
    if _UNPUBLISHED.fullmatch(revision):
        raise UserError(
            "The project was made with a version of hybridal from before its first release, and its database cannot be "
            "read any more; export its labels with that version and import them into a new project."
        )
    raise UserError("The project was last used with a newer version of hybridal; update hybridal to open it.")


def drop_tables(connection: Connection) -> None:
    """Drop all tables of a project in a PostgreSQL database; other tables there stay.

    Args:
        connection: A connection to the project's database, in a transaction.
    """
    names = [*Base.metadata.tables, "text_search", "alembic_version"]
    connection.execute(text(f"DROP TABLE IF EXISTS {', '.join(names)} CASCADE"))
    for function in ("text_search_follow()", "text_search_parts(text)"):
        connection.execute(text(f"DROP FUNCTION IF EXISTS {function}"))
