"""The index that `search.py` uses: FTS5 with trigrams in SQLite, a GIN index over trigrams in PostgreSQL.

It is created by the initial migration; a later change to it belongs in a new migration.
"""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

# An external-content table, which does not store the words a second time. Triggers keep it in step with `texts`.
SQLITE = (
    "CREATE VIRTUAL TABLE text_search USING fts5(folded, content='texts', content_rowid='row', tokenize='trigram')",
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
    "CREATE VIRTUAL TABLE text_search_vocabulary USING fts5vocab(text_search, row)",
)

# Returns every substring of three characters, and the shorter ones before a line end; no search crosses a line end.
# A tsvector holds 1 MB. A text that might exceed it gets a single line end as its vector, and every search reads it.
# The high COST keeps PostgreSQL from calling the function once per row instead of using the index.
TRIGRAMS = r"""CREATE FUNCTION text_search_parts(words text) RETURNS tsvector IMMUTABLE COST 100 LANGUAGE plpgsql AS $$
    BEGIN
        IF length(words) > 80000 THEN
            RETURN array_to_tsvector(ARRAY[E'\n']);
        END IF;
        RETURN array_to_tsvector(array_remove(string_to_array(
            regexp_replace(words, '(...)', E'\\1\n', 'g') || E'\n' ||
            regexp_replace(substr(words, 2), '(...)', E'\\1\n', 'g') || E'\n' ||
            regexp_replace(substr(words, 3), '(...)', E'\\1\n', 'g'), E'\n'), ''));
    END $$"""
POSTGRESQL = (
    # A separate table: an index on `texts` would be updated with every change of a row, including each new label.
    "CREATE TABLE text_search (row bigint CONSTRAINT text_search_key PRIMARY KEY, folded text NOT NULL)",
    TRIGRAMS,
    "CREATE INDEX text_search_by_parts ON text_search USING gin (text_search_parts(folded))",
    # ANALYZE would compute the trigrams of many texts for statistics that no query uses.
    "ALTER INDEX text_search_by_parts ALTER COLUMN 1 SET STATISTICS 0",
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
    """CREATE TRIGGER text_search_follows AFTER INSERT OR DELETE OR UPDATE OF folded ON texts
    FOR EACH ROW EXECUTE FUNCTION text_search_follow()""",
)


def create_search_index(connection: Connection) -> None:
    """Create the index, its triggers and its functions.

    Args:
        connection: A connection to a database whose table `texts` exists and is empty.
    """
    if connection.dialect.name == "postgresql":
        _execute_all(connection, POSTGRESQL)
    else:
        # SQLite before 3.34 has no trigrams: search then reads every text, which is slower and finds the same.
        with suppress(DBAPIError), connection.begin_nested():
            _execute_all(connection, SQLITE)


def _execute_all(connection: Connection, statements: tuple[str, ...]) -> None:
    for statement in statements:
        connection.execute(text(statement))
