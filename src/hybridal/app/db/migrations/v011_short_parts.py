"""Two line ends behind each text's words, and the vocabulary of SQLite's index: parts of one or two letters are found.

Revision ID: 011
"""

from __future__ import annotations

from contextlib import suppress

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import DBAPIError

revision = "011"
down_revision = "010"

# The index is made anew at once, not a text at a time.
STEPS = (
    "DROP TRIGGER text_search_changed",
    "UPDATE texts SET folded = folded || char(10, 10)",
    "INSERT INTO text_search (text_search) VALUES ('rebuild')",
    """CREATE TRIGGER text_search_changed AFTER UPDATE OF folded ON texts BEGIN
        INSERT INTO text_search (text_search, rowid, folded) VALUES ('delete', old.row, old.folded);
        INSERT INTO text_search (rowid, folded) VALUES (new.row, new.folded);
    END""",
    "CREATE VIRTUAL TABLE text_search_vocabulary USING fts5vocab(text_search, row)",
)


def upgrade() -> None:
    """PostgreSQL's index knows words by their beginnings and ends, and has no use for it."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        # Without an index there is nothing to do: searching is slower then, and finds the same.
        with suppress(DBAPIError), connection.begin_nested():
            for statement in STEPS:
                connection.execute(sa.text(statement))
