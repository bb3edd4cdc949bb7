"""PostgreSQL finds parts of words by a table and an index of its own: of any length, in every script, in any locale.

Revision ID: 012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from hybridal.app.db.migrations import parts_of_texts

revision = "012"
down_revision = "011"

# All that is three characters long, and what is left before a line end: nobody looks for a part across one. A vector
# holds a megabyte, so a text of more characters than surely fit has a line end alone, and is looked at by every search.
# What it costs keeps PostgreSQL from asking for it text by text.
PARTS = r"""CREATE FUNCTION text_search_parts(words text) RETURNS tsvector IMMUTABLE COST 100 LANGUAGE plpgsql AS $$
    BEGIN
        IF length(words) > 80000 THEN
            RETURN array_to_tsvector(ARRAY[E'\n']);
        END IF;
        RETURN array_to_tsvector(array_remove(string_to_array(
            regexp_replace(words, '(...)', E'\\1\n', 'g') || E'\n' ||
            regexp_replace(substr(words, 2), '(...)', E'\\1\n', 'g') || E'\n' ||
            regexp_replace(substr(words, 3), '(...)', E'\\1\n', 'g'), E'\n'), ''));
    END $$"""
# The words stand in a table of their own, since an index is told of each change of a row, also by a label.
BEFORE = (
    "DROP INDEX IF EXISTS text_search",
    "CREATE TABLE text_search (row bigint CONSTRAINT text_search_key PRIMARY KEY, folded text NOT NULL)",
    PARTS,
    "CREATE INDEX text_search_by_parts ON text_search USING gin (text_search_parts(folded))",
    # Without statistics, which nobody needs: for them it would take many texts apart.
    "ALTER INDEX text_search_by_parts ALTER COLUMN 1 SET STATISTICS 0",
)
EACH_PART = "INSERT INTO text_search (row, folded) SELECT row, folded FROM texts WHERE row BETWEEN :first AND :last"
AFTER = (
    """CREATE FUNCTION text_search_follow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM text_search WHERE row = OLD.row;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO text_search (row, folded) VALUES (NEW.row, NEW.folded);
        END IF;
        RETURN NULL;
    END $$""",
    "SELECT gin_clean_pending_list('text_search_by_parts')",  # see `search.tidy`
    """CREATE TRIGGER text_search_follows AFTER INSERT OR DELETE OR UPDATE OF folded ON texts
    FOR EACH ROW EXECUTE FUNCTION text_search_follow()""",
)


def upgrade() -> None:
    """SQLite has had it since 011. The extension that made the index before stays where it is: others may use it."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        for statement in BEFORE:
            connection.execute(sa.text(statement))
        for part in parts_of_texts(connection):
            connection.execute(sa.text(EACH_PART), part)
        for statement in AFTER:
            connection.execute(sa.text(statement))
