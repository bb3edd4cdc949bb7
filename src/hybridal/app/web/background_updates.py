"""Apply changes of classes and of the disagreement rule to all texts, and find look-alikes, while people label."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from subprocess import CalledProcessError

from anyio import create_task_group, sleep
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError

from hybridal.app.group_texts import group_texts
from hybridal.app.labelling.removed_classes import rows_to_update, update_texts
from hybridal.app.labelling.requirements import apply_rule_to_some, unsettled
from hybridal.app.labelling.texts import chunks
from hybridal.app.project import Project
from hybridal.app.web.project_threads import in_thread

ROWS_PER_TRANSACTION = 100  # so that annotations hardly wait for the database
GROUPING_DELAY = 2.0  # seconds; the first pages need the processor
CHECK_SECONDS = 30.0  # between two checks for interrupted work
log = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Resume work that was interrupted by the end of a process or a failing database."""

    async def resume() -> None:
        while True:
            try:
                await catch_up(app.state.project)
            except SQLAlchemyError:
                log.exception("A change of a class or rule has not reached all texts yet; it will be resumed.")
            await sleep(CHECK_SECONDS)

    async def group() -> None:
        await sleep(GROUPING_DELAY)
        while True:
            try:
                await in_thread(group_texts, app.state.project)
            except (SQLAlchemyError, CalledProcessError):
                log.exception("Texts that are almost the same were not found; it will be tried again.")
            await sleep(CHECK_SECONDS)

    async with create_task_group() as tasks:
        tasks.start_soon(resume)
        tasks.start_soon(group)
        yield
        tasks.cancel_scope.cancel()


async def catch_up(project: Project) -> None:
    """Update all texts whose class was merged or deleted or whose consensus follows an older rule."""
    for part in chunks(await in_thread(rows_left, project), ROWS_PER_TRANSACTION):
        await in_thread(_update_texts, project, part)
    while await in_thread(_settle, project):
        pass


def rows_left(project: Project) -> Sequence[int]:
    """The rows of texts that still refer to a merged or deleted class."""
    with project.reads() as session:
        return rows_to_update(session)


def _update_texts(project: Project, rows: Sequence[int]) -> None:
    with project.sessions.begin() as session:
        update_texts(session, rows)


def _settle(project: Project) -> bool:
    with project.reads() as session:
        if not unsettled(session):
            return False
    with project.sessions.begin() as session:
        return apply_rule_to_some(session, ROWS_PER_TRANSACTION)
