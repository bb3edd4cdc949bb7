"""Routes for comments that are addressed to a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from fastapi import Query
from pydantic import Field

from hybridal.app.labelling.comments import (
    LONGEST_COMMENT,
    Box,
    ShownThread,
    answer,
    begin_thread,
    list_threads,
    mark_read,
    people_to_address,
    thread_of,
    threads_of_texts,
)
from hybridal.app.people import User, may
from hybridal.app.project import Project
from hybridal.app.web.auth import Annotator, CurrentProject
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import CleanStr, Done, Item, Key, Number, Schema, excerpt

router = Router(prefix="/api")

THREADS_PER_PAGE = 20


class CommentSchema(Schema):
    """A comment of a thread; one that marks the thread as done may be empty."""

    number: int
    person: str
    comment: str
    done: bool
    at: float


class ThreadSchema(Schema):
    """A comment that is addressed to a person, with the answers to it."""

    number: int
    text: str = Field(description="The id of the text.")
    excerpt: str = Field(description="The beginning of the text.")
    person: str = Field(description="Who began it.")
    to: str | None = Field(description="Who it is addressed to; null for the reviewers.")
    done: bool
    unread: bool = Field(description="Whether it has comments that the signed-in person has not read.")
    comments: list[CommentSchema] = Field(description="The oldest first.")


class CommentedItem(Item):
    """A text to label with its comments."""

    threads: list[ThreadSchema] = Field(description="The addressed comments on it that this person sees.")


class ThreadPage(Schema):
    """Threads, those with the newest comments first; `next` is the `before` of the following page."""

    items: list[ThreadSchema]
    next: int | None


class Addressee(Schema):
    """A person to whom comments can be addressed."""

    number: int
    name: str


class Addressees(Schema):
    """The other people of the project, and whether reviewers or owners are among them."""

    people: list[Addressee]
    reviewers: bool


class NewComment(Schema):
    """A comment on a text."""

    key: Key
    text: CleanStr = Field(description="Its id.", examples=["t17"])
    to: Number | None = Field(description="The number of the person it is addressed to; null for the reviewers.")
    comment: CleanStr = Field(max_length=LONGEST_COMMENT, examples=["Is this sarcasm?"])


class Answer(Schema):
    """An answer in a thread. With `done` the thread is done, and the answer may be empty; without, it is open again."""

    key: Key
    thread: Number
    comment: CleanStr = Field("", max_length=LONGEST_COMMENT)
    done: bool = False


class ReadComment(Schema):
    """The number of the newest comment that was read in its thread."""

    comment: Number


@router.get("/comments")
def get_comments(
    user: Annotator,
    project: CurrentProject,
    box: Annotated[
        Box, Query(description="Unread ones, those to or by the person; reviewers also see those of `all` people.")
    ] = "received",
    done: Annotated[bool, Query(description="Also those that are done and read.")] = False,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="Only older threads.")] = None,
) -> ThreadPage:
    """Addressed comments with their answers."""
    with project.reads() as session:
        found = list_threads(session, user, box, also_done=done, before=before, n=THREADS_PER_PAGE + 1)
    shown = found[:THREADS_PER_PAGE]
    older = shown[-1].thread.newest if len(found) > len(shown) else None
    return ThreadPage(items=thread_schemas(shown), next=older)


@router.get("/comments/people")
def list_addressees(user: Annotator, project: CurrentProject) -> Addressees:
    """The people to whom comments can be addressed."""
    with project.reads() as session:
        found = people_to_address(session, user)
    people = [Addressee(number=one.number, name=one.name) for one in found]
    return Addressees(people=people, reviewers=any(may(one.role, "reviewer") for one in found))


@router.post("/comments")
def create_comment(given: NewComment, user: Annotator, project: CurrentProject) -> ThreadSchema:
    """Address a comment on a text to a person, or to the reviewers."""
    with project.sessions.begin() as session:
        number = begin_thread(session, user, given.text, given.to, given.comment, given.key)
        return thread_schemas([thread_of(session, user, number)])[0]


@router.post("/comments/answers")
def answer_comment(given: Answer, user: Annotator, project: CurrentProject) -> ThreadSchema:
    """Answer in a thread, or mark it as done."""
    with project.sessions.begin() as session:
        answer(session, user, given.thread, given.comment, done=given.done, key=given.key)
        return thread_schemas([thread_of(session, user, given.thread)])[0]


@router.post("/comments/read")
def mark_comment_read(given: ReadComment, user: Annotator, project: CurrentProject) -> Done:
    """Note that a comment and those before it in its thread were read."""
    with project.sessions.begin() as session:
        mark_read(session, user, given.comment)
    return Done()


def with_threads(project: Project, user: User, items: Sequence[Item]) -> list[CommentedItem]:
    """Add comments to texts, with one query for all. Called after the transaction, so that it does not prolong it."""
    with project.reads() as session:
        found = threads_of_texts(session, user, [item.id for item in items]) if items else {}
    return [CommentedItem(**dict(item), threads=thread_schemas(found.get(item.id, []))) for item in items]


def thread_schemas(found: Iterable[ShownThread]) -> list[ThreadSchema]:
    """Threads as JSON."""
    return [
        ThreadSchema(
            number=one.thread.number,
            text=one.text.id,
            excerpt=excerpt(one.text.body),
            person=one.person,
            to=one.to,
            done=one.thread.done,
            unread=one.unread,
            comments=[
                CommentSchema(
                    number=comment.number, person=name, comment=comment.body, done=comment.done, at=comment.at
                )
                for comment, name in one.comments
            ],
        )
        for one in found
    ]
