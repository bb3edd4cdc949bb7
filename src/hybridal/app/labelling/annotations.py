"""Annotations are added, undone and withdrawn. Rows are append-only, and the same key counts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy import Row, bindparam, insert, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, GoneError, MissingError
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import execute
from hybridal.app.db.schema import Annotation, Class, LabelSet, Person, Recheck, ServedText, Setting, Tally, Text, Vote
from hybridal.app.labelling import classes
from hybridal.app.labelling.codebook import NEWEST_VERSION, newest_version
from hybridal.app.labelling.consensus import (
    COUNT_NAMES,
    VOTE,
    CastVote,
    cast_vote,
    find_and_lock,
    lock_text,
    record_vote,
    votes_on,
)
from hybridal.app.labelling.queue import lease_again
from hybridal.app.labelling.rechecks import is_queued, people_outdated
from hybridal.app.labelling.stored_class_sets import Label, active_numbers, label_columns, numbers_of
from hybridal.errors import UserError
from hybridal.sentences import Sentence

_USED = "The key '{key}' was already used for another annotation; use a new key for each."

_ADD = insert(Annotation).returning(Annotation.number)
_EARLIER = select(Annotation.number, Annotation.text_row, Annotation.person_number, Annotation.action)
_OF_THIS_KEY = _EARLIER.where(Annotation.key == bindparam("key"))

MULTI_LABEL = select(Setting.value).where(Setting.name == "multi_label")

# Everything needed to check an annotation: one row per vote on the text, or a single row without a vote.
_LOOK = (
    _EARLIER.add_columns(Class.number.label("given"), Class.merged_into, Class.archived)
    .add_columns(MULTI_LABEL.scalar_subquery().label("multi_label"))
    .add_columns(NEWEST_VERSION.scalar_subquery().label("newest_version"))
    .add_columns(select(ServedText).where(ServedText.text_row == bindparam("row")).exists().label("served"))
    .add_columns(select(Recheck).where(Recheck.text_row == bindparam("row")).exists().label("rechecked"))
    .add_columns(*(getattr(Tally, name).label(f"all_{name}") for name in COUNT_NAMES))
    .add_columns(Vote.person_number.label("voter"), *VOTE)
    .select_from(Tally)
    .outerjoin(Annotation, Annotation.key == bindparam("key"))
    .outerjoin(Class, Class.name == bindparam("name"))
    .outerjoin(Vote, Vote.text_row == bindparam("row"))
    .outerjoin(LabelSet, LabelSet.number == Vote.label_set)
    .outerjoin(Person, Person.number == Vote.person_number)
)


def annotate(
    session: Session,
    person: Person,
    text_id: str,
    action: Literal["label", "skip"],
    *,
    class_name: str | None = None,
    class_names: Sequence[str] | None = None,
    decisions: Mapping[str, bool | None] | None = None,
    flagged: bool = False,
    reason: str = "",
    comment: str = "",
    key: str,
    decides: bool = False,
    offered: bool = False,
    drawn: str | None = None,
    codebook: int | None = None,
    copy_of: int | None = None,
) -> dict[str, int]:
    """Record a person's label or skip, which replaces their earlier one; `decisions` add to it.

    Args:
        session: A session that may write.
        person: The annotator.
        text_id: Id of the text.
        action: `label` or `skip`.
        class_name: The class of a label; None for a skip.
        class_names: If a text may have several classes: all of them; an empty list means none of the classes.
        decisions: If a text may have several classes: whether it has some of them, by name. None is a question that the
            person skipped.
        flagged: Whether the text is flagged for review.
        reason: Why the text is skipped or flagged, one of `REASONS`; "" for none.
        comment: A comment for reviewers.
        key: Identifies the request, so that a repeated one counts once.
        decides: Whether this is an adjudication, which settles a disagreement.
        offered: Refuse archived classes.
        drawn: How the annotator came to the text (see `Annotation`); None if the queue gave it or they picked it.
        codebook: The version of the codebook that the annotator has seen; None for the newest.
        copy_of: The number of the annotation of a look-alike that it copies.

    Returns:
        The project's counts after the annotation.

    Raises:
        MissingError: There is no such text or class.
        GoneError: The text was deleted.
        ConflictError: The key was used for another annotation, or the class is archived.
        UserError: A label has no class, or a skip has one; or the label is not of the project's kind.
    """
    text = find_and_lock(session, text_id)
    if text is None:
        raise MissingError(Sentence("There is no text '{id}'.", id=text_id[:40]))
    if text.deleted is not None:
        raise GoneError(Sentence("The text '{id}' was deleted.", id=text_id[:40]))
    name = None if class_name is None else class_name.strip()
    seen = execute(session, _LOOK, key=key, name=name, row=text.row).all()
    now, counts = seen[0], {name: getattr(seen[0], f"all_{name}") for name in COUNT_NAMES}
    if now.number is not None:
        if (now.text_row, now.person_number) != (text.row, person.number) or now.action == "withdraw":
            raise ConflictError(_USED.format(key=key))
        return counts
    _check_kind(bool(now.multi_label), action, name, class_names, decisions)
    label: Label | None = now.given
    if name is not None and (now.given is None or now.merged_into is not None or now.archived):
        label = (classes.find_offered if offered else classes.find)(session, name).number
    elif class_names is not None:
        label = ClassSet.of(numbers_of(session, class_names, offered).values())
    elif decisions is not None:
        numbers = numbers_of(session, decisions, offered)
        label = ClassSet.partial({numbers[name]: decided for name, decided in decisions.items()})
    number: int = execute(
        session,
        _ADD,
        key=key,
        text_row=text.row,
        person_number=person.number,
        action=action,
        **label_columns(session, label),
        flagged=flagged,
        reason=reason,
        comment=comment,
        decides=decides,
        drawn=drawn or _drawn(text, served=bool(now.served)),
        codebook=now.newest_version if codebook is None else min(codebook, now.newest_version),
        copy_of=copy_of,
    ).scalar_one()
    before = {one.voter: cast_vote(*one[-len(VOTE) :]) for one in seen if one.voter is not None}
    vote = accumulated(
        before.get(person.number), CastVote(person.kind, label, number, decides, flagged, copy_of is not None)
    )
    votes: dict[int, CastVote | None] = {person.number: _completed(session, vote)}
    if now.rechecked:
        votes |= dict.fromkeys(people_outdated(session, text.row, {**before, **votes}))
    moved = record_vote(session, text, before, votes, number, person)
    return {name: counts[name] + moved[name] for name in COUNT_NAMES}


def _drawn(text: Text, served: bool) -> str:
    """How a person came to a text: validation texts are served at random, others as the model has queued them."""
    if not served:
        return "picked"
    return "random" if text.split == "validation" else "queue"


def _check_kind(
    multi_label: bool,
    action: str,
    class_name: str | None,
    class_names: Sequence[str] | None,
    decisions: Mapping[str, bool | None] | None,
) -> None:
    """Refuse a label that is not of the project's kind, or a skip with a label."""
    several = [one for one in (class_names, decisions) if one is not None]
    if several and not multi_label:
        raise UserError("In this project a text has exactly one class: give `class`, not `classes` or `decisions`.")
    if class_name is not None and multi_label:
        raise UserError(
            "In this project a text may have several classes: give `classes`, or `decisions` on some, not `class`."
        )
    if multi_label and action == "label" and (len(several) != 1 or decisions == {}):
        raise UserError("A label needs either `classes`, which may be empty, or `decisions` on at least one class.")
    if (action == "label") != (class_name is not None or bool(several)):
        raise UserError("A label needs a class; a skip must not have one.")


def accumulated(before: CastVote | None, given: CastVote) -> CastVote:
    """The vote of a person after an annotation: one that decides only some classes adds to their earlier vote.

    An adjudication that decides only some classes makes the reviewer's own earlier answer part of it: without that, the
    other classes of a text that they alone have labelled would be unknown.

    >>> first = CastVote("person", ClassSet.partial({1: True}), 7)
    >>> accumulated(first, CastVote("person", ClassSet.partial({2: False}), 8)).label
    ClassSet(present=frozenset({1}), absent=frozenset({2}), unknown=frozenset())
    """
    adds = isinstance(given.label, ClassSet) and given.label.absent is not None
    if before is None or not adds or not isinstance(before.label, ClassSet):
        return given
    label = before.label.updated(given.label)  # type: ignore[arg-type]
    flagged = given.flagged or (before.flagged and not given.decides)
    return CastVote(given.kind, label, given.number, given.decides or before.decides, flagged)


def _completed(session: Session, vote: CastVote) -> CastVote:
    """The vote with a whole set, if each class that can be given is decided."""
    if not isinstance(vote.label, ClassSet) or vote.label.is_whole:
        return vote
    return replace(vote, label=vote.label.completed(active_numbers(session)))


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
    else:
        theirs = theirs.where(~Vote.copied)  # copies are undone with the answer that they copy
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
    left = _vote_after(session, person, not_withdrawn([*history, Annotation(action="withdraw")]))
    _add_withdrawal(session, person, text, key, left)
    return left is not None


def not_withdrawn(history: Sequence[Annotation]) -> list[Annotation]:
    """Select a person's annotations on a text that were not withdrawn.

    >>> first, second, back = (Annotation(action=action) for action in ("label", "skip", "withdraw"))
    >>> not_withdrawn([first, second, back]) == [first], not_withdrawn([first, back, back])
    (True, [])
    """
    kept: list[Annotation] = []
    for given in history:
        if given.action != "withdraw":
            kept.append(given)
        elif kept:
            kept.pop()
    return kept


def _vote_after(session: Session, person: Person, annotations: Sequence[Annotation]) -> CastVote | None:
    """The vote that a person's annotations mean today: classes may have been merged or deleted since."""
    vote: CastVote | None = None
    for given in annotations if any(one.label_set is not None for one in annotations) else annotations[-1:]:
        label = _label_of(session, given)
        if label is None and given.action == "label":  # its class was deleted
            vote = vote if isinstance(vote and vote.label, ClassSet) else None
        else:
            copied = given.copy_of is not None
            vote = accumulated(vote, CastVote(person.kind, label, given.number, given.decides, given.flagged, copied))
    return None if vote is None else _completed(session, vote)


def _label_of(session: Session, given: Annotation) -> Label | None:
    """The label that an annotation means today; None for a skip, or if nothing is left of it."""
    if given.label_set is not None:
        now, deleted = classes.current_classes(session), classes.deleted_classes(session)
        label = session.get_one(LabelSet, given.label_set).classes.renamed(now, deleted)
        return label if label.absent is None or label.classes else None
    number = None if given.class_number is None else classes.resolve(session, given.class_number)
    return None if number is None or classes.get(session, number).archived == "deleted" else number


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
    withdrawal = Annotation(
        key=key,
        text_row=text.row,
        person_number=person.number,
        action="withdraw",
        codebook=newest_version(session),
    )
    session.add(withdrawal)
    session.flush()
    before, votes = votes_on(session, text), {person.number: left}
    if is_queued(session, text.row):
        votes = {**_votes_of_history(session, text), **votes}
        votes |= dict.fromkeys(people_outdated(session, text.row, votes))
    record_vote(session, text, before, votes, withdrawal.number, person)


def _votes_of_history(session: Session, text: Text) -> dict[int, CastVote | None]:
    """People's votes on a text as their annotations mean today, whether or not the codebook has changed since."""
    given = select(Annotation).where(Annotation.text_row == text.row).order_by(Annotation.number)
    history: dict[int, list[Annotation]] = {}
    for one in session.scalars(given):
        history.setdefault(one.person_number, []).append(one)
    people = {number: session.get_one(Person, number) for number in history}
    return {
        number: _vote_after(session, people[number], not_withdrawn(annotations))
        for number, annotations in history.items()
        if people[number].kind == "person"
    }
