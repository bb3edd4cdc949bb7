"""Labels that a change of the codebook touches: people look at them again, and older answers no longer count then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, delete, func, insert, select, update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import MissingError
from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import Annotation, Consensus, Lease, Recheck, Text, now
from hybridal.app.labelling.consensus import CastVote
from hybridal.sentences import Sentence

STATES = ("open", "done", "dismissed")
_ROWS_PER_QUERY = 500


def outdated(answered: Mapping[int, int], reached: int, queued: Iterable[int]) -> set[int]:
    """Select the people whose answer to a text no longer counts: they answered another question.

    Args:
        answered: The version of the codebook of each person's answer, by the number of the person.
        reached: The newest version under which a person has answered for all classes.
        queued: The versions for which the text was queued.

    Returns:
        Those who answered before a version under which another person has answered again.

    >>> outdated({7: 1, 8: 1, 9: 3}, 3, [2]) == {7, 8}, outdated({7: 1, 8: 1}, 1, [2])
    (True, set())
    """
    bound = max((version for version in queued if version <= reached), default=0)
    return {person for person, version in answered.items() if version < bound}


def is_queued(session: Session, row: int) -> bool:
    """Whether a text was ever queued to be looked at again."""
    return session.scalar(select(Recheck.version).where(Recheck.text_row == row).limit(1)) is not None


def people_outdated(session: Session, row: int, votes: Mapping[int, CastVote | None]) -> set[int]:
    """Select the people whose votes on a queued text no longer count, and update the states of its rechecks.

    Args:
        session: A session that has locked the text.
        row: The row of the text.
        votes: All votes on it as if no version had touched it, by the number of the person.
    """
    given = {number: vote for number, vote in votes.items() if vote is not None and vote.kind == "person"}
    numbers = {vote.number for vote in given.values()}
    rows = session.execute(select(Annotation.number, Annotation.codebook).where(Annotation.number.in_(numbers)))
    version: dict[int, int] = dict(rows.all())
    answered = {number: version[vote.number] for number, vote in given.items()}
    whole = [number for number, vote in given.items() if vote.label is not None and not vote.is_partial]
    reached = max((answered[number] for number in whole), default=-1)
    queued = session.scalars(select(Recheck.version).where(Recheck.text_row == row)).all()
    state = case((Recheck.version <= reached, "done"), else_="open")
    changed = update(Recheck).where(Recheck.text_row == row, Recheck.state != "dismissed", Recheck.state != state)
    session.execute(changed.values(state=state).execution_options(synchronize_session=False))
    return outdated(answered, reached, queued)


def add_rechecks(session: Session, version: int, rows: Mapping[int, str]) -> int:
    """Queue texts to be looked at again, in this order; those without a consensus are left out.

    Args:
        session: A session that has blocked annotations.
        version: The version of the codebook that touches their labels.
        rows: The reason for each row (see `Recheck`).

    Returns:
        How many texts were queued.
    """
    given, queued = [*rows], 0
    for start in range(0, len(given), _ROWS_PER_QUERY):
        part = given[start : start + _ROWS_PER_QUERY]
        found = select(Consensus.text_row, Consensus.class_number, Consensus.label_set).join(Text)
        labels = session.execute(found.where(Consensus.text_row.in_(part), Text.deleted.is_(None)))
        old = {row: {"class_number": number, "label_set": label_set} for row, number, label_set in labels}
        values = [
            {"version": version, "text_row": row, "rank": start + at, "reason": rows[row], **old[row]}
            for at, row in enumerate(part)
            if row in old
        ]
        if values:
            session.execute(insert(Recheck), values)
        queued += len(values)
    return queued


@dataclass(frozen=True)
class RecheckCounts:
    """How many texts a version of the codebook has queued, by what became of them."""

    open: int = 0
    done: int = 0
    dismissed: int = 0


def recheck_counts(session: Session) -> dict[int, RecheckCounts]:
    """Count the queued texts of each version; deleted texts do not count."""
    counted = select(Recheck.version, Recheck.state, func.count()).join(Text, Text.row == Recheck.text_row)
    found: dict[int, dict[str, int]] = {}
    for version, state, n in session.execute(
        counted.where(Text.deleted.is_(None)).group_by(Recheck.version, Recheck.state)
    ):
        found.setdefault(version, {})[state] = n
    return {version: RecheckCounts(**states) for version, states in found.items()}


def texts_to_recheck(session: Session) -> int:
    """Count the texts that are still queued, for whichever version."""
    queued = select(func.count(Recheck.text_row.distinct())).join(Text, Text.row == Recheck.text_row)
    return session.scalar(queued.where(Recheck.state == "open", Text.deleted.is_(None))) or 0


def lease_rechecks(
    session: Session, person: int, n: int, settings: Mapping[str, Any], version: int | None = None
) -> list[tuple[Text, Recheck]]:
    """Lease up to n texts that are to be looked at again, those first that the person holds already.

    Args:
        session: A session that may write.
        person: The number of the person.
        n: How many texts at most.
        settings: The settings of the project.
        version: The version that has queued them; None for all, the newest first.
    """
    exclusive(session, durable=False)
    session.execute(delete(Lease).where(Lease.until <= now()))
    held = select(Lease.text_row).where(Lease.person_number != person)
    mine = select(Lease.text_row).where(Lease.person_number == person)
    found = select(Recheck, Text).join(Text, Text.row == Recheck.text_row)
    found = found.where(Recheck.state == "open", Text.deleted.is_(None), Text.row.not_in(held))
    if version is not None:
        found = found.where(Recheck.version == version)
    # A text that several versions have queued is served once, for the newest of them.
    newest = select(func.max(Recheck.version)).where(Recheck.text_row == Text.row, Recheck.state == "open")
    newest = newest.where(Recheck.version == version) if version is not None else newest
    found = found.where(Recheck.version == newest.correlate(Text).scalar_subquery())
    order = (Text.row.not_in(mine), Recheck.version.desc(), Recheck.rank)
    chosen = [(text, recheck) for recheck, text in session.execute(found.order_by(*order).limit(n))]
    held_by_me = {*session.scalars(mine)}
    until = now() + settings["lease_seconds"]
    new = [text.row for text, _ in chosen if text.row not in held_by_me]
    if new:
        session.execute(insert(Lease), [{"text_row": row, "person_number": person, "until": until} for row in new])
    again = [text.row for text, _ in chosen if text.row in held_by_me]
    session.execute(update(Lease).where(Lease.person_number == person, Lease.text_row.in_(again)).values(until=until))
    return chosen


def postpone(session: Session, person: int, text_id: str) -> None:
    """Put a text to the end of the queues that it is in, and end the person's lease."""
    exclusive(session)
    row = session.scalar(select(Text.row).where(Text.id == text_id))
    mine = session.scalars(select(Recheck).where(Recheck.text_row == row, Recheck.state == "open")).all()
    if not mine:
        raise MissingError(Sentence("The text '{id}' is not queued to be looked at again.", id=text_id[:40]))
    for one in mine:
        last = session.scalar(select(func.max(Recheck.rank)).where(Recheck.version == one.version))
        one.rank = (last or 0) + 1
    session.execute(delete(Lease).where(Lease.text_row == row, Lease.person_number == person))


def dismiss(session: Session, version: int) -> int:
    """Leave the old answers to the texts that are still queued for a version; return how many there are."""
    exclusive(session)
    left: Sequence[int] = session.scalars(
        select(Recheck.text_row).where(Recheck.version == version, Recheck.state == "open")
    ).all()
    session.execute(
        update(Recheck).where(Recheck.version == version, Recheck.state == "open").values(state="dismissed")
    )
    return len(left)
