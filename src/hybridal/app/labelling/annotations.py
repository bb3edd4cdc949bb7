"""Annotations are added, undone and withdrawn. Rows are append-only, and the same key counts once."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Row, bindparam, insert, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, GoneError, MissingError
from hybridal.app.db.connect import execute
from hybridal.app.db.schema import Annotation, Class, Person, Tally, Text, Vote
from hybridal.app.labelling import classes
from hybridal.app.labelling.consensus import (
    COUNT_NAMES,
    VOTE,
    CastVote,
    find_and_lock,
    lock_text,
    record_vote,
    votes_on,
)
from hybridal.app.labelling.queue import lease_again
from hybridal.errors import UserError

_USED = "The key '{key}' was already used for another annotation; use a new key for each."

_ADD = insert(Annotation).returning(Annotation.number)
_EARLIER = select(Annotation.number, Annotation.text_row, Annotation.person_number, Annotation.action)
_OF_THIS_KEY = _EARLIER.where(Annotation.key == bindparam("key"))

# Everything needed to check an annotation: one row per vote on the text, or a single row without a vote.
_LOOK = (
    _EARLIER.add_columns(Class.number.label("given"), Class.merged_into, Class.archived)
    .add_columns(*(getattr(Tally, name).label(f"all_{name}") for name in COUNT_NAMES))
    .add_columns(Vote.person_number.label("voter"), *VOTE)
    .select_from(Tally)
    .outerjoin(Annotation, Annotation.key == bindparam("key"))
    .outerjoin(Class, Class.name == bindparam("name"))
    .outerjoin(Vote, Vote.text_row == bindparam("row"))
    .outerjoin(Person, Person.number == Vote.person_number)
)


def annotate(
    session: Session,
    person: Person,
    text_id: str,
    action: Literal["label", "skip"],
    *,
    class_name: str | None = None,
    flagged: bool = False,
    comment: str = "",
    key: str,
    decides: bool = False,
    offered: bool = False,
) -> dict[str, int]:
    """Record a person's label or skip, which replaces their earlier one.

    Args:
        session: A session that may write.
        person: The annotator.
        text_id: Id of the text.
        action: `label` or `skip`.
        class_name: The class of a label; None for a skip.
        flagged: Whether the text is flagged for review.
        comment: A comment for reviewers.
        key: Identifies the request, so that a repeated one counts once.
        decides: Whether this is an adjudication, which settles a disagreement.
        offered: Refuse archived classes.

    Returns:
        The project's counts after the annotation.

    Raises:
        MissingError: There is no such text or class.
        GoneError: The text was deleted.
        ConflictError: The key was used for another annotation, or the class is archived.
        UserError: A label has no class, or a skip has one.
    """
    text = find_and_lock(session, text_id)
    if text is None:
        raise MissingError(f"There is no text '{text_id:.40}'.")
    if text.deleted is not None:
        raise GoneError(f"The text '{text_id:.40}' was deleted.")
    name = None if class_name is None else class_name.strip()
    seen = execute(session, _LOOK, key=key, name=name, row=text.row).all()
    now, counts = seen[0], {name: getattr(seen[0], f"all_{name}") for name in COUNT_NAMES}
    if now.number is not None:
        if (now.text_row, now.person_number) != (text.row, person.number) or now.action == "withdraw":
            raise ConflictError(_USED.format(key=key))
        return counts
    if (action == "label") != (name is not None):
        raise UserError("A label needs a class; a skip must not have one.")
    class_number = now.given
    if name is not None and (now.given is None or now.merged_into is not None or now.archived):
        class_number = (classes.find_offered if offered else classes.find)(session, name).number
    number: int = execute(
        session,
        _ADD,
        key=key,
        text_row=text.row,
        person_number=person.number,
        action=action,
        class_number=class_number,
        flagged=flagged,
        comment=comment,
        decides=decides,
    ).scalar_one()
    before = {one.voter: CastVote(*one[-len(VOTE) :]) for one in seen if one.voter is not None}
    vote = CastVote(person.kind, class_number, number, decides, flagged)
    moved = record_vote(session, text, person, before, vote, number)
    return {name: counts[name] + moved[name] for name in COUNT_NAMES}


def undo(session: Session, person: Person, key: str, undoes: str | None = None) -> Text | None:
    """Withdraw a person's annotation with the key `undoes`, or their newest, and lease the text to them again.

    An earlier annotation of theirs on the text counts again. Returns None if there is nothing to undo.
    """
    one_undo_at_a_time(session, person)
    if earlier := find_annotation(session, person, key):
        if earlier.action != "withdraw":
            raise ConflictError(_USED.format(key=key))
        return session.get_one(Text, earlier.text_row)
    theirs = select(Vote.text_row).join(Text).where(Vote.person_number == person.number, Text.deleted.is_(None))
    if undoes is not None:
        theirs = theirs.where(Vote.annotation_number.in_(select(Annotation.number).where(Annotation.key == undoes)))
    newest = session.scalar(theirs.order_by(Vote.annotation_number.desc()).limit(1))
    if newest is None:
        return None
    text = lock_text(session, newest)
    if not withdraw_vote(session, person, text, key):
        lease_again(session, person, text)
    return text


def one_undo_at_a_time(session: Session, person: Person) -> None:
    """Lock the person, so that two quick undos withdraw two annotations, not the same one twice."""
    session.execute(select(Person.number).where(Person.number == person.number).with_for_update(key_share=True))


def withdraw_vote(session: Session, person: Person, text: Text, key: str) -> bool:
    """Withdraw a person's vote on a locked text; return whether an earlier annotation counts again."""
    history = session.scalars(
        select(Annotation)
        .where(Annotation.text_row == text.row, Annotation.person_number == person.number)
        .order_by(Annotation.number)
    ).all()
    before = last_not_withdrawn([*history, Annotation(action="withdraw")])
    left = None if before is None else _vote_of(session, person, before)
    _add_withdrawal(session, person, text, key, left)
    return left is not None


def last_not_withdrawn(history: list[Annotation]) -> Annotation | None:
    """Find a person's last annotation on a text that was not withdrawn.

    >>> first, second, back = (Annotation(action=action) for action in ("label", "skip", "withdraw"))
    >>> last_not_withdrawn([first, second, back]) is first, last_not_withdrawn([first, back, back])
    (True, None)
    """
    kept: list[Annotation] = []
    for given in history:
        if given.action != "withdraw":
            kept.append(given)
        elif kept:
            kept.pop()
    return kept[-1] if kept else None


def _vote_of(session: Session, person: Person, given: Annotation) -> CastVote | None:
    """The vote that an annotation means today: its class may have been merged, or deleted (None)."""
    class_number = None if given.class_number is None else classes.resolve(session, given.class_number)
    if class_number is not None and classes.get(session, class_number).archived == "deleted":
        return None
    return CastVote(person.kind, class_number, given.number, given.decides, given.flagged)


def find_annotation(session: Session, person: Person, key: str) -> Row[*tuple[Any, ...]] | None:
    """Find the annotation with this key; refuse a key that another person has used."""
    earlier = execute(session, _OF_THIS_KEY, key=key).one_or_none()
    if earlier is not None and earlier.person_number != person.number:
        raise ConflictError(_USED.format(key=key))
    return earlier


def withdraw(session: Session, person: Person, text_row: int, key: str) -> None:
    """Withdraw a person's vote on a text; do nothing if there is none, or the key was used before."""
    text = lock_text(session, text_row)
    mine = select(Vote.annotation_number).where(Vote.text_row == text_row, Vote.person_number == person.number)
    if (
        session.scalar(mine) is None
        or session.scalar(select(Annotation.number).where(Annotation.key == key)) is not None
    ):
        return
    _add_withdrawal(session, person, text, key, None)


def _add_withdrawal(session: Session, person: Person, text: Text, key: str, left: CastVote | None) -> None:
    """Add a withdrawal; `left` is the vote that counts after it."""
    withdrawal = Annotation(key=key, text_row=text.row, person_number=person.number, action="withdraw")
    session.add(withdrawal)
    session.flush()
    record_vote(session, text, person, votes_on(session, text), left, withdrawal.number)
