"""Texts are found by any part of their words, case and accents aside, in every script."""

from __future__ import annotations

from sqlalchemy import Column, MetaData, Select, String, Table, column, false, func, select, table
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Text, fold

# What a database has to find them quickly; made by migrations 004 and 011, in SQLite tables and in PostgreSQL an index.
INDEX, VOCABULARY = "text_search", "text_search_vocabulary"
SHORTEST = 3  # characters: SQLite's index knows a text by all that follow one another, three at a time
COMMON = 0.05  # of a sample of texts: a shorter part that so many have is found at once by a look at them, one by one
SAMPLE, MOST_TERMS = 5000, 1000

_indexed = table(INDEX, column("rowid"))
_terms = Table(VOCABULARY, MetaData(), Column("term", String))
_named: Select[str] = select(column("name")).select_from(table("sqlite_master"))
_known = _named.where(column("name").in_((INDEX, VOCABULARY)))


def is_short(words: str) -> bool:
    """Whether some of these words are parts too short for an index: very many texts may have them.

    >>> is_short("card a"), is_short("card")
    (True, False)
    """
    return any(len(word) < SHORTEST for word in fold(words).split())


def containing(session: Session, words: str) -> Select[int]:
    """The rows of the texts that have all these words in them, each as it is or as a part of another."""
    folded = fold(words).split()
    if session.get_bind().dialect.name == "postgresql":
        # Without its index, for which a server needs the extension pg_trgm, it reads all texts and finds the same.
        return select(Text.row).where(*(Text.folded.contains(word, autoescape=True) for word in folded))
    known, clauses, looked_for = {*session.scalars(_known)}, [], []
    for word in folded:
        terms = _terms_of(session, word, known) if INDEX in known else None
        if terms is None:
            looked_for.append(word)
        elif terms:
            clauses.append(f"({' OR '.join(map(_quoted, terms))})")
        else:
            return select(Text.row).where(false())
    matching: Select[int] = select(_indexed.c.rowid).where(column(INDEX).op("MATCH")(" AND ".join(clauses)))
    if clauses and not looked_for:
        return matching
    found = select(Text.row).where(*(func.instr(Text.folded, word) > 0 for word in looked_for))
    return found.where(Text.row.in_(matching)) if clauses else found


def _terms_of(session: Session, word: str, known: set[str]) -> list[str] | None:
    """What SQLite's index is asked for: any of these. None: each text is looked at, since that is quicker."""
    if len(word) >= SHORTEST:
        return [word]
    if VOCABULARY not in known:
        return None
    first = select(Text.folded).order_by(Text.row).limit(SAMPLE).subquery()
    having = select(func.count()).select_from(first).where(func.instr(first.c.folded, word) > 0)
    if (session.scalar(having) or 0) >= COMMON * SAMPLE:
        return None
    # Every character begins three: two line ends follow the last one.
    beginning = select(_terms.c.term).where(_terms.c.term >= word, _terms.c.term < f"{word}\U0010ffff")
    found = [*session.scalars(beginning.limit(MOST_TERMS))]
    return found if len(found) < MOST_TERMS else None


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
