"""Each text's words without case and accents, SQLite's index of any part of them, and the job that scores all texts.

Revision ID: 004
"""

from __future__ import annotations

from contextlib import suppress

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import DBAPIError

from hybridal.app.db.schema import fold

revision = "004"
down_revision = "003"

AT_ONCE = 1000

# A table without a copy of the words; triggers keep it true whoever adds or removes a text.
SQLITE = (
    "CREATE VIRTUAL TABLE text_search USING fts5(folded, content='texts', content_rowid='row', tokenize='trigram')",
    "INSERT INTO text_search (text_search) VALUES ('rebuild')",
    """CREATE TRIGGER text_search_added AFTER INSERT ON texts BEGIN
        INSERT INTO text_search (rowid, folded) VALUES (new.row, new.folded);
    END""",
    """CREATE TRIGGER text_search_removed AFTER DELETE ON texts BEGIN
        INSERT INTO text_search (text_search, rowid, folded) VALUES ('delete', old.row, old.folded);
    END""",
    """CREATE TRIGGER text_search_changed AFTER UPDATE OF folded ON texts BEGIN
        INSERT INTO text_search (text_search, rowid, folded) VALUES ('delete', old.row, old.folded);
        INSERT INTO text_search (rowid, folded) VALUES (new.row, new.folded);
    END""",
)


def upgrade() -> None:
    """Adds the column, fills it in, and makes its index in SQLite; then the table of the job."""
    op.add_column("texts", sa.Column("folded", sa.String, server_default=sa.text("''"), nullable=False))
    connection = op.get_bind()
    _fill_in(connection)
    if connection.dialect.name == "sqlite":
        # One before 3.34: searching is slower then, and finds the same.
        with suppress(DBAPIError), connection.begin_nested():
            for statement in SQLITE:
                connection.execute(sa.text(statement))
    scoring = op.create_table(
        "scoring",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("job", sa.Integer, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("seconds_left", sa.Float(53), nullable=True),
        sa.Column("error", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("number", name="scoring_key"),
    )
    none = {"number": 1, "state": "none", "job": 0, "round": 0, "done": 0, "total": 0, "error": ""}
    op.bulk_insert(scoring, [none])


def _fill_in(connection: sa.Connection) -> None:
    texts = sa.table("texts", sa.column("row"), sa.column("body"), sa.column("folded"))
    fill_in = texts.update().where(texts.c.row == sa.bindparam("of")).values(folded=sa.bindparam("new"))
    last = -1
    while True:
        after = sa.select(texts.c.row, texts.c.body).where(texts.c.row > last).order_by(texts.c.row).limit(AT_ONCE)
        found = connection.execute(after).all()
        if not found:
            return
        connection.execute(fill_in, [{"of": row, "new": fold(body)} for row, body in found])
        last = found[-1].row
