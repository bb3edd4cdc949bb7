"""Texts are found by any part of their words, case and accents aside, in every script.

What many texts have is found soonest by a look at them one by one, until there are enough; what few have, by an index.
Some texts that are spread over all of them tell which it is: neither database is left to guess.
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
SHORTEST = 3  # characters: an index knows a text by all that follow one another, three at a time
COMMON = 0.05  # share of a sample: where more texts have the words, a look at one after the other soon finds many
RUNS, RUN = 20, 25  # the sample: so many runs of so many texts, spread over all of them, since files are often sorted
MOST_TERMS = 1000  # that SQLite's index is asked for at once

_indexed = table(INDEX, column("rowid"), column("row"), column("folded"))
_terms = Table(VOCABULARY, MetaData(), Column("term", String))
_named: Select[str] = select(column("name")).select_from(table("sqlite_master"))
_known = _named.where(column("name").in_((INDEX, VOCABULARY)))


def containing(session: Session, words: str) -> Select[int]:
    """The rows of the texts that have all these words in them, each as it is or as a part of another."""
    parts = _parts(words)
    found = _indexed_rows(session, parts)
    return select(Text.row).where(*_all_in(session, parts)) if found is None else found


def contains(session: Session, words: str, row: InstrumentedAttribute[int]) -> ColumnElement[bool]:
    """Whether the text of a row is one of these, for a list that has an order of its own."""
    parts = _parts(words)
    found = _indexed_rows(session, parts)
    if found is not None:  # all of them first: PostgreSQL would rather look at each text in the order of the list
        rows = found.cte().prefix_with("MATERIALIZED", dialect="postgresql")
        return row.in_(select(*rows.c))
    has_all = and_(true(), *_all_in(session, parts))
    return has_all if row is Text.row else select(has_all).where(Text.row == row).scalar_subquery()


def tidy(session: Session) -> None:
    """After texts came: PostgreSQL puts what is new beside its index, where each search looks through all of it."""
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
    """What an index finds. None: there is none for this, or a look at each text is quicker."""
    if not parts:
        return None
    *shares, of_all = _shares(session, parts)
    if of_all > COMMON:
        return None
    # Of the short parts, an index is asked for the rare ones alone: it would have to bring very many others together.
    rare = [part for part, share in zip(parts, shares, strict=True) if len(part) >= SHORTEST or share <= COMMON]
    if not rare:
        return None
    return _in_postgresql(session, parts, rare) if _is_postgresql(session) else _in_sqlite(session, parts, rare)


def _shares(session: Session, parts: Sequence[str]) -> list[float]:
    """Of some texts, the share that has each part, and last the share that has them all."""
    last = session.scalar(select(func.max(Text.row))) or 1
    some = or_(*(Text.row.between(first, first + RUN - 1) for first in range(1, last + 1, last // RUNS + 1)))
    each = _all_in(session, parts)
    counted = (func.count().filter(has) for has in (*each, and_(*each)))
    n, *found = session.execute(select(func.count(), *counted).where(some)).one()
    return [one / max(n, 1) for one in found]


def _in_postgresql(session: Session, parts: Sequence[str], rare: Sequence[str]) -> Select[int]:
    """A text that has all threes of a word may not have the word; one that is too long for its index has a line end."""
    every = " & ".join(three for part in rare for three in _threes(part))
    asked = func.text_search_parts(_indexed.c.folded).op("@@")(cast(f"'\n' | {every}", TSQUERY))
    return select(_indexed.c.row).where(asked, *_all_in(session, parts, _indexed.c.folded))


def _threes(part: str) -> list[str]:
    if len(part) < SHORTEST:
        return [f"{_lexeme(part)}:*"]
    return [_lexeme(part[at : at + SHORTEST]) for at in range(len(part) - SHORTEST + 1)]


def _lexeme(three: str) -> str:
    return "'" + three.replace("\\", "\\\\").replace("'", "''") + "'"


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
    """What SQLite's index is asked for: any of these. None: they are too many."""
    if len(part) >= SHORTEST:
        return [part]
    if VOCABULARY not in known:
        return None
    # Every character begins three: two line ends follow the last one.
    beginning = select(_terms.c.term).where(_terms.c.term >= part, _terms.c.term < f"{part}\U0010ffff")
    found = [*session.scalars(beginning.limit(MOST_TERMS))]
    return found if len(found) < MOST_TERMS else None


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
