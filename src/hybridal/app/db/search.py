"""Texts are found by any part of their words, case and accents aside, in every script."""

from __future__ import annotations

from sqlalchemy import Select, column, func, select, table
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Text, fold

# What a database has to find them quickly; made by migration 004, in SQLite a table and in PostgreSQL an index.
INDEX = "text_search"
SHORTEST = 3  # characters: SQLite's index knows a text by all that follow one another, three at a time

_indexed = table(INDEX, column("rowid"))
_has_index: Select[str] = select(column("name")).select_from(table("sqlite_master")).where(column("name") == INDEX)


def containing(session: Session, words: str) -> Select[int]:
    """The rows of the texts that have all these words in them, each as it is or as a part of another."""
    folded = fold(words).split()
    if session.get_bind().dialect.name == "postgresql":
        # Without its index, for which a server needs the extension pg_trgm, it reads all texts and finds the same.
        return select(Text.row).where(*(Text.folded.contains(word, autoescape=True) for word in folded))
    quick = [word for word in folded if len(word) >= SHORTEST] if session.execute(_has_index).first() else []
    query = " AND ".join('"' + word.replace('"', '""') + '"' for word in quick)
    matching: Select[int] = select(_indexed.c.rowid).where(column(INDEX).op("MATCH")(query))
    if quick and len(quick) == len(folded):
        return matching
    found = select(Text.row).where(*(func.instr(Text.folded, word) > 0 for word in folded if word not in quick))
    return found.where(Text.row.in_(matching)) if quick else found
