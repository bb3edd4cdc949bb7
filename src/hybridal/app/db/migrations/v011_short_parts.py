"""Two line ends behind each text's words, and the vocabulary of SQLite's index: parts of one or two letters are found.

Revision ID: 011
"""

from __future__ import annotations

from contextlib import suppress

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import DBAPIError

from hybridal.app.db.migrations import parts_of_texts

revision = "011"
down_revision = "010"

# The index is made anew in parts, which are quicker than a text at a time.
BEFORE = ("DROP TRIGGER text_search_changed", "INSERT INTO text_search (text_search) VALUES ('delete-all')")
EACH_PART = (
    "UPDATE texts SET folded = folded || char(10, 10) WHERE row BETWEEN :first AND :last",
    "INSERT INTO text_search (rowid, folded) SELECT row, folded FROM texts WHERE row BETWEEN :first AND :last",
)
AFTER = (
    """CREATE TRIGGER text_search_changed AFTER UPDATE OF folded ON texts BEGIN
        INSERT INTO text_search (text_search, rowid, folded) VALUES ('delete', old.row, old.folded);
        INSERT INTO text_search (rowid, folded) VALUES (new.row, new.folded);
    END""",
    "CREATE VIRTUAL TABLE text_search_vocabulary USING fts5vocab(text_search, row)",
)


def upgrade() -> None:
    """PostgreSQL gets its own index in 012."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        # Without an index there is nothing to do: searching is slower then, and finds the same.
        with suppress(DBAPIError), connection.begin_nested():
            for statement in BEFORE:
                connection.execute(sa.text(statement))
            for part in parts_of_texts(connection):
                for statement in EACH_PART:
                    connection.execute(sa.text(statement), part)
            for statement in AFTER:
                connection.execute(sa.text(statement))
