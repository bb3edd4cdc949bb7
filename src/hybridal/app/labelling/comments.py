"""Comments on a text that are addressed to a person or to the reviewers, with answers, until they are done.

A thread is seen by its author, by the person it is addressed to, and by all reviewers and owners. It is unread for
those whom it concerns: its author, the addressed person (or all reviewers), and people who have answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, true
from sqlalchemy.orm import Session, aliased

from hybridal.app.app_errors import ConflictError, ForbiddenError, GoneError, MissingError
from hybridal.app.db.schema import Comment, CommentReader, CommentThread, Person, Text
from hybridal.app.labelling.consensus import find_and_lock
from hybridal.app.people import User, may
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable

LONGEST_COMMENT = 2000
LONGEST_THREAD = 100
"""The number of comments from which a thread takes no more answers."""

Box = Literal["unread", "received", "sent", "all"]

_AUTHOR, _ADDRESSEE = aliased(Person), aliased(Person)


@dataclass(frozen=True)
class ShownThread:
    """A thread as one person sees it.

    Attributes:
        thread: Its row.
        text: Its text.
        person: The name of its author.
        to: The name of the person it is addressed to; None for the reviewers.
        unread: Whether it has comments that the person shall read.
        comments: Its comments with the names of their authors, the oldest first.
    """

    thread: CommentThread
    text: Text
    person: str
    to: str | None
    unread: bool
    comments: Sequence[tuple[Comment, str]]


def people_to_address(session: Session, user: User) -> list[Person]:
    """The other people of the project, by name, without those who were removed."""
    others = select(Person).where(Person.kind == "person", Person.active, Person.number != user.person.number)
    return [*session.scalars(others.order_by(func.lower(Person.name)))]


def begin_thread(session: Session, user: User, text_id: str, to: int | None, body: str, key: str) -> int:
    """Address a comment on a text to a person.

    Args:
        session: A session that may write.
        user: The author.
        text_id: Id of the text.
        to: The number of the person; None for the reviewers.
        body: The comment.
        key: Identifies the request, so that a repeated one counts once.

    Returns:
        The number of the thread.

    Raises:
        MissingError: There is no such text or person.
        GoneError: The text was deleted.
        ConflictError: The key was used for another comment.
        UserError: The comment is empty, or addressed to its author.
    """
    text = find_and_lock(session, text_id)
    if text is None:
        raise MissingError(Sentence("There is no text '{id}'.", id=text_id[:40]))
    if text.deleted is not None:
        raise GoneError(Sentence("The text '{id}' was deleted.", id=text_id[:40]))
    if (repeated := _repeated(session, user, key)) is not None:
        return repeated
    addressee = None if to is None else session.get(Person, to)
    if to is not None and (addressee is None or addressee.kind != "person"):
        raise MissingError(f"There is no person number {to}.")
    if to == user.person.number:
        raise UserError(translatable("Address the comment to another person."))
    thread = CommentThread(text_row=text.row, person_number=user.person.number, to_person=to, newest=0)
    session.add(thread)
    session.flush()
    _add(session, user, thread, _checked(body), done=False, key=key)
    return thread.number


def answer(session: Session, user: User, number: int, body: str, *, done: bool, key: str) -> None:
    """Answer in a thread, or mark it as done; an answer that does not mark it as done reopens it.

    Args:
        session: A session that may write.
        user: The author.
        number: The number of the thread.
        body: The answer; it may be empty if the thread is done.
        done: Whether the thread is done.
        key: Identifies the request, so that a repeated one counts once.

    Raises:
        MissingError: The person sees no such thread.
        ConflictError: The key was used for another comment, or the thread is full.
        UserError: The answer is empty.
    """
    thread = _lock(session, user, CommentThread.number == number)
    if _repeated(session, user, key) is not None or (thread.done and done and not body.strip()):
        return
    n = session.scalar(select(func.count()).where(Comment.thread_number == number)) or 0
    if n >= LONGEST_THREAD and not (done and not thread.done):
        raise ConflictError(translatable("This thread is full; begin another one."))
    _add(session, user, thread, _checked(body, may_be_empty=done), done=done, key=key)


def mark_read(session: Session, user: User, comment: int) -> None:
    """Note that a person has read a comment and those before it in its thread.

    Raises:
        MissingError: The person sees no such comment.
    """
    of_comment = select(Comment.thread_number).where(Comment.number == comment).scalar_subquery()
    thread = _lock(session, user, CommentThread.number == of_comment)
    if session.scalar(
        _threads(user, CommentThread.number).where(CommentThread.number == thread.number, _concerns(user))
    ):
        _read(session, user, thread, comment)


def list_threads(
    session: Session, user: User, box: Box, *, also_done: bool = False, before: int | None = None, n: int = 20
) -> list[ShownThread]:
    """Threads, those with the newest comments first.

    Args:
        session: A session of the project.
        user: Who sees them.
        box: `unread` are those that `count_unread` counts, `received` those that concern the person and that another
            began, `sent` those that they began, `all` those that reviewers see.
        also_done: Also those that are done and read.
        before: Only those whose newest comment has a lower number.
        n: How many at most.

    Raises:
        ForbiddenError: Only reviewers see all.
    """
    if box == "all" and not may(user.role, "reviewer"):
        raise ForbiddenError(translatable("Only reviewers see the comments of other people."))
    mine = CommentThread.person_number == user.person.number
    conditions = {
        "unread": _is_unread(user),
        "received": and_(_concerns(user), ~mine),
        "sent": mine,
        "all": true(),
    }
    found = _shown(user).where(conditions[box])
    if not also_done:
        found = found.where(or_(~CommentThread.done, _is_unread(user)))
    if before is not None:
        found = found.where(CommentThread.newest < before)
    return _with_comments(session, found.order_by(CommentThread.newest.desc()).limit(n))


def threads_of_text(session: Session, user: User, row: int) -> list[ShownThread]:
    """The threads of a text that a person sees, the oldest first."""
    return _with_comments(session, _shown(user).where(Text.row == row).order_by(CommentThread.number))


def threads_of_texts(session: Session, user: User, ids: Sequence[str]) -> dict[str, list[ShownThread]]:
    """The threads of some texts that a person sees, by the id of the text, the oldest first; most texts have none."""
    found: dict[str, list[ShownThread]] = {}
    for one in _with_comments(session, _shown(user).where(Text.id.in_(ids)).order_by(CommentThread.number)):
        found.setdefault(one.text.id, []).append(one)
    return found


def thread_of(session: Session, user: User, number: int) -> ShownThread:
    """One thread."""
    [found] = _with_comments(session, _shown(user).where(CommentThread.number == number))
    return found


def count_unread(session: Session, user: User) -> int:
    """The number of threads with comments that a person shall read."""
    return session.scalar(_threads(user, func.count()).where(_is_unread(user))) or 0


def comment_lines(session: Session, rows: Sequence[int]) -> dict[int, list[str]]:
    """The comments of texts as lines for exports, by the row of the text.

    Args:
        session: A session of the project.
        rows: The rows of the texts.
    """
    found = (
        select(CommentThread.text_row, CommentThread.number, Comment.body, _AUTHOR.name, _ADDRESSEE.name)
        .join(Comment, Comment.thread_number == CommentThread.number)
        .join(_AUTHOR, _AUTHOR.number == Comment.person_number)
        .outerjoin(_ADDRESSEE, _ADDRESSEE.number == CommentThread.to_person)
        .where(CommentThread.text_row.in_(rows), Comment.body != "")
        .order_by(CommentThread.number, Comment.number)
    )
    lines: dict[int, list[str]] = {}
    begun: set[int] = set()
    for row, thread, body, author, to in session.execute(found):
        name = author if thread in begun else f"{author} to {to or 'the reviewers'}"
        begun.add(thread)
        lines.setdefault(row, []).append(f"{name}: {body}")
    return lines


# --- what a person sees ----------------------------------------------------------------------------------------------


def _threads(user: User, *columns: Any) -> Select[Any]:
    """Columns of the threads that a person sees, with their text, the people and what the person has read."""
    me = user.person.number
    found = (
        select(*columns)
        .select_from(CommentThread)
        .join(Text, Text.row == CommentThread.text_row)
        .join(_AUTHOR, _AUTHOR.number == CommentThread.person_number)
        .outerjoin(_ADDRESSEE, _ADDRESSEE.number == CommentThread.to_person)
        .outerjoin(
            CommentReader,
            and_(CommentReader.thread_number == CommentThread.number, CommentReader.person_number == me),
        )
        .where(Text.deleted.is_(None))
    )
    if not may(user.role, "reviewer"):
        found = found.where(or_(CommentThread.person_number == me, CommentThread.to_person == me))
    return found


def _shown(user: User) -> Select[Any]:
    return _threads(user, CommentThread, Text, _AUTHOR.name, _ADDRESSEE.name, _is_unread(user))


def _concerns(user: User) -> ColumnElement[bool]:
    """Whether a thread concerns a person: they began it, it is addressed to them, or they take part in it."""
    me = user.person.number
    mine = or_(CommentThread.person_number == me, CommentThread.to_person == me, CommentReader.read.is_not(None))
    if not may(user.role, "reviewer"):
        return mine
    return or_(mine, CommentThread.to_person.is_(None), ~_ADDRESSEE.active)


def _is_unread(user: User) -> ColumnElement[bool]:
    """Whether a thread has something to read; a thread that is done only for its author."""
    news = CommentThread.newest > func.coalesce(CommentReader.read, 0)
    return and_(_concerns(user), news, or_(~CommentThread.done, CommentThread.person_number == user.person.number))


def _with_comments(session: Session, found: Select[Any]) -> list[ShownThread]:
    threads = session.execute(found).all()
    if not threads:
        return []
    comments: dict[int, list[tuple[Comment, str]]] = {one.number: [] for one, *_ in threads}
    written = select(Comment, Person.name).join(Person, Person.number == Comment.person_number)
    for comment, name in session.execute(written.where(Comment.thread_number.in_(comments)).order_by(Comment.number)):
        comments[comment.thread_number].append((comment, name))
    return [
        ShownThread(thread, text, person, to, bool(unread), comments[thread.number])
        for thread, text, person, to, unread in threads
    ]


# --- writing ---------------------------------------------------------------------------------------------------------


def _lock(session: Session, user: User, condition: ColumnElement[bool]) -> CommentThread:
    """Lock a thread that a person sees, so that its comments are numbered in the order of their commits."""
    number = session.scalar(_threads(user, CommentThread.number).where(condition))
    if number is None:
        raise MissingError(translatable("There is no such comment."))
    return session.get_one(CommentThread, number, with_for_update=True, populate_existing=True)


def _repeated(session: Session, user: User, key: str) -> int | None:
    """The thread of a comment that was sent before; None if the key is new."""
    found = session.scalar(select(Comment).where(Comment.key == key))
    if found is not None and found.person_number != user.person.number:
        raise ConflictError(f"The key '{key}' was already used for another comment; use a new key for each.")
    return None if found is None else found.thread_number


def _checked(body: str, *, may_be_empty: bool = False) -> str:
    body = body.strip()
    if not body and not may_be_empty:
        raise UserError(translatable("Write the comment first."))
    if len(body) > LONGEST_COMMENT:
        raise UserError(Sentence("A comment has at most {most} characters.", most=LONGEST_COMMENT))
    return body


def _add(session: Session, user: User, thread: CommentThread, body: str, *, done: bool, key: str) -> None:
    comment = Comment(key=key, thread_number=thread.number, person_number=user.person.number, body=body, done=done)
    session.add(comment)
    session.flush()
    thread.newest, thread.done = comment.number, done
    _read(session, user, thread, comment.number)


def _read(session: Session, user: User, thread: CommentThread, comment: int) -> None:
    reader = session.get(CommentReader, (user.person.number, thread.number))
    if reader is None:
        session.add(CommentReader(person_number=user.person.number, thread_number=thread.number, read=comment))
    else:
        reader.read = max(reader.read, comment)
