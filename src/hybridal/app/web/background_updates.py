"""What is decided at once, and then done with all texts some at a time while people label: classes go, rules change."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from anyio import create_task_group, sleep
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError

from hybridal.app.labelling.removed_classes import follow, rows_to_follow
from hybridal.app.labelling.requirements import settle_some, unsettled
from hybridal.app.labelling.texts import chunks
from hybridal.app.project import Project
from hybridal.app.web.project_threads import in_thread

AT_ONCE = 100  # texts in a transaction: who labels hardly waits for it
LATER = 30.0  # seconds until it is looked whether something was cut off
log = logging.getLogger(__name__)


@asynccontextmanager
async def at_work(app: FastAPI) -> AsyncIterator[None]:
    """Goes on with what was cut off: when the last process ended, or the database failed."""

    async def go_on() -> None:
        while True:
            try:
                await catch_up(app.state.project)
            except SQLAlchemyError:
                log.exception("A change of a class or of a rule could not reach all texts; it goes on later.")
            await sleep(LATER)

    async with create_task_group() as tasks:
        tasks.start_soon(go_on)
        yield
        tasks.cancel_scope.cancel()


async def catch_up(project: Project) -> None:
    """Lets all texts follow what became of their classes and of the rule, in short transactions."""
    for part in chunks(await in_thread(left_to_follow, project), AT_ONCE):
        await in_thread(_follow, project, part)
    while await in_thread(_settle, project):
        pass


def left_to_follow(project: Project) -> Sequence[int]:
    """The texts that still have to do with a class that is gone."""
    with project.reads() as session:
        return rows_to_follow(session)


def _follow(project: Project, rows: Sequence[int]) -> None:
    with project.sessions.begin() as session:
        follow(session, rows)


def _settle(project: Project) -> bool:
    with project.reads() as session:
        if not unsettled(session):
            return False
    with project.sessions.begin() as session:
        return settle_some(session, AT_ONCE)
