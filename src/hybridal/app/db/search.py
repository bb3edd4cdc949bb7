"""Full-text search for any part of a word, without case and accents, in every script.

Frequent words are found fastest by reading texts one by one until a page is full, rare words by an index. A sample of
the texts decides which, since the databases' own estimates are poor here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    Column,
    ColumnElement,
    MetaData,
    Select,
    SQLColumnExpression,
    String,
    Table,
    and_,
    cast,
    column,
    false,
    func,
    or_,
    select,
    table,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.orm import InstrumentedAttribute, Session

from hybridal.app.db.schema import Text, fold

# Created in `search_index.py`; an older SQLite has neither.
INDEX, VOCABULARY = "text_search", "text_search_vocabulary"
TRIGRAM = 3  # characters; shorter parts are looked up as prefixes of trigrams
COMMON = 0.05  # share of the sample above which texts are read one by one
RUNS, TEXTS_PER_RUN = 20, 25  # the sample is spread over all texts, since files are often sorted
MAX_TERMS = 1000  # in one query of SQLite's index

_indexed = table(INDEX, column("rowid"), column("row"), column("folded"))
_terms = Table(VOCABULARY, MetaData(), Column("term", String))
_named: Select[str] = select(column("name")).select_from(table("sqlite_master"))
_known = _named.where(column("name").in_((INDEX, VOCABULARY)))


def containing(session: Session, words: str) -> Select[int]:
    """Select the rows of the texts that contain all these words, each whole or as part of another word."""
    parts = _parts(words)
    found = _indexed_rows(session, parts)
    return select(Text.row).where(*_all_in(session, parts)) if found is None else found


def contains(session: Session, words: str, row: InstrumentedAttribute[int]) -> ColumnElement[bool]:
    """Build a condition that the text of a row contains all these words, for a query with another order."""
    parts = _parts(words)
    found = _indexed_rows(session, parts)
    if found is not None:  # materialised: otherwise PostgreSQL searches each text in the order of the list
        rows = found.cte().prefix_with("MATERIALIZED", dialect="postgresql")
        return row.in_(select(*rows.c))
    has_all = and_(true(), *_all_in(session, parts))
    return has_all if row is Text.row else select(has_all).where(Text.row == row).scalar_subquery()


def tidy(session: Session) -> None:
    """Merge PostgreSQL's pending entries into the index after texts were added; each search reads all pending ones."""
    if _is_postgresql(session):
        session.execute(text("SELECT gin_clean_pending_list('text_search_by_parts')"))


def _parts(words: str) -> list[str]:
    return [*dict.fromkeys(fold(words).split())]


def _all_in(
    session: Session, parts: Sequence[str], folded: SQLColumnExpression[str] = Text.folded
) -> list[ColumnElement[bool]]:
    place = func.strpos if _is_postgresql(session) else func.instr
    return [place(folded, part) > 0 for part in parts]


def _is_postgresql(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"


def _indexed_rows(session: Session, parts: Sequence[str]) -> Select[int] | None:
    """Select rows by the index; None if there is no index, or if reading each text is faster."""
    if not parts:
        return None
    *shares, of_all = _shares(session, parts)
    if of_all > COMMON:
        return None
    # Short frequent parts match many index entries; they are checked on the texts instead, unless all are such.
    rare = [part for part, share in zip(parts, shares, strict=True) if len(part) >= TRIGRAM or share <= COMMON] or parts
    return _in_postgresql(session, parts, rare) if _is_postgresql(session) else _in_sqlite(session, parts, rare)


def _shares(session: Session, parts: Sequence[str]) -> list[float]:
    """The share of sampled texts that contain each part, and last the share that contain all of them."""
    last = session.scalar(select(func.max(Text.row))) or 1
    some = or_(*(Text.row.between(first, first + TEXTS_PER_RUN - 1) for first in range(1, last + 1, last // RUNS + 1)))
    each = _all_in(session, parts)
    counted = (func.count().filter(has) for has in (*each, and_(*each)))
    n, *found = session.execute(select(func.count(), *counted).where(some)).one()
    return [one / max(n, 1) for one in found]


def _in_postgresql(session: Session, parts: Sequence[str], rare: Sequence[str]) -> Select[int]:
    """Match trigrams, then the words themselves. A text that is too long for the index has a line end as its entry."""
    every = " & ".join(trigram for part in rare for trigram in _trigrams(part))
    asked = func.text_search_parts(_indexed.c.folded).op("@@")(cast(f"'\n' | {every}", TSQUERY))
    return select(_indexed.c.row).where(asked, *_all_in(session, parts, _indexed.c.folded))


def _trigrams(part: str) -> list[str]:
    if len(part) < TRIGRAM:
        return [f"{_lexeme(part)}:*"]
    return [_lexeme(part[at : at + TRIGRAM]) for at in range(len(part) - TRIGRAM + 1)]


def _lexeme(trigram: str) -> str:
    return "'" + trigram.replace("\\", "\\\\").replace("'", "''") + "'"


def _in_sqlite(session: Session, parts: Sequence[str], rare: Sequence[str]) -> Select[int] | None:
    known = {*session.scalars(_known)}
    if INDEX not in known:
        return None
    terms = {part: found for part in rare if (found := _terms_of(session, part, known)) is not None}
    if not all(terms.values()):
        return select(Text.row).where(false())
    if not terms:
        return None
    clauses = (f"({' OR '.join(map(_quoted, found))})" for found in terms.values())
    matching = select(_indexed.c.rowid).where(column(INDEX).op("MATCH")(" AND ".join(clauses)))
    if not (looked_for := [part for part in parts if part not in terms]):
        return matching
    return select(Text.row).where(Text.row.in_(matching), *_all_in(session, looked_for))


def _terms_of(session: Session, part: str, known: set[str]) -> list[str] | None:
    """The index terms that match a part; None if there are too many."""
    if len(part) >= TRIGRAM:
        return [part]
    if VOCABULARY not in known:
        return None
    # Every character begins a trigram, because two line ends follow the last one.
    beginning = select(_terms.c.term).where(_terms.c.term >= part, _terms.c.term < f"{part}\U0010ffff")
    found = [*session.scalars(beginning.limit(MAX_TERMS))]
    return found if len(found) < MAX_TERMS else None


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
