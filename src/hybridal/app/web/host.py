"""The projects of a folder, each served from when it is found until it is gone; a broken one harms no other."""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project, has_schema
from hybridal.app.trainer.publish import error_sentence
from hybridal.app.trainer.supervisor import Supervisor
from hybridal.app.trainer.turns import Turns
from hybridal.app.web.web_app import create_app
from hybridal.errors import UserError
from hybridal.system.files import folder_made_whole, identity_of
from hybridal.system.lock import locked
from hybridal.system.private import close_to_others

PAUSE = 2.0  # seconds between two looks at the folder
FRESH = 0.5  # seconds for which a folder that was there counts as being there
LATER = 10.0  # seconds until a project that could not be opened is tried again
LONGEST_NAME = 100
_NAME = re.compile(r"\w[\w .-]*")  # without a quote, a slash or a bracket: it becomes a part of an address
log = logging.getLogger(__name__)


class Hosted:
    """A folder that should be a project: its app while it is served, else what is wrong with it, in one sentence."""

    def __init__(self, folder: Path, identity: tuple[int, int]) -> None:
        self.folder, self.identity = folder, identity
        self.app: FastAPI | None = None
        self.problem = ""
        self.busy = False  # it is opened, served or let go
        self.tried = -math.inf  # when it was last opened
        self._seen = -math.inf  # when the folder was last there
        self._looking = anyio.CapacityLimiter(1)
        self.leave = anyio.Event()  # it is to be let go
        self.settled = anyio.Event()  # it is served, or has a problem

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def served(self) -> FastAPI | None:
        """Its app, until it is to be let go, or another folder has taken its name. It asks the disk."""
        there = identity_of(self.folder) == self.identity
        self._seen = time.monotonic() if there else -math.inf
        return self.app if there and not self.leave.is_set() else None

    async def find_app(self) -> FastAPI | None:
        """`served`, for the event loop: a disk that does not answer makes only those wait who ask for this project."""
        if time.monotonic() - self._seen > FRESH:
            return await to_thread.run_sync(lambda: self.served, limiter=self._looking)
        return None if self.leave.is_set() else self.app


class Host:
    """Looks after a folder: what is moved into it is served within moments, what is moved away is let go."""

    def __init__(
        self, folder: Path, turns: Turns, *, local: bool, settings: Mapping[str, Any], db: str | None = None
    ) -> None:
        self.folder, self.turns, self.local = folder, turns, local
        self.db = db  # PostgreSQL, in which each new project has a schema
        self.settings = settings  # of new projects
        self.hosted: dict[str, Hosted] = {}
        self.closed: set[str] = set()  # by the operator, until they open it again
        self._ending: anyio.Event
        self._tasks: TaskGroup

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves, and at the end lets go of, all projects."""
        self._ending = anyio.Event()
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._watch)
            try:
                yield
            finally:
                self._ending.set()
                for one in self.hosted.values():
                    one.leave.set()

    async def create(self, title: str) -> Hosted:
        """A new project without texts."""
        name = folder_name(title)
        await run_in_threadpool(self._create, self.folder / name, title)
        await self.look()
        await self.hosted[name].settled.wait()
        return self.hosted[name]

    def _create(self, target: Path, title: str) -> None:
        if target.exists():
            raise ConflictError(f"There is a folder '{target.name}' already; choose another name.")
        with folder_made_whole(target) as scratch:
            made = Project.create(
                Source(title, []), scratch, db=self.db, in_schema=self.db is not None, **self.settings
            )
            made.close()
        close_to_others([target, *target.iterdir()])

    async def close(self, name: str) -> None:
        """Lets go of a project, so that its folder can be copied or moved to another disk."""
        self.find(name)
        self.closed.add(name)
        await self.look()

    async def open(self, name: str) -> None:
        """Serves a project again that was closed."""
        self.find(name).tried = -math.inf
        self.closed.discard(name)
        await self.look()

    def find(self, name: str) -> Hosted:
        """The folder of this name, served or not."""
        if name not in self.hosted:
            raise MissingError("There is no such project on this server.")
        return self.hosted[name]

    async def _watch(self) -> None:
        while not self._ending.is_set():
            try:
                await self.look()
            except OSError as error:
                log.warning("%s cannot be read (%s); what is served goes on.", self.folder, error.strerror)
            with anyio.move_on_after(PAUSE):
                await self._ending.wait()

    async def look(self) -> None:
        """Compares what is served with what is there."""
        there = await run_in_threadpool(project_folders, self.folder)
        if self._ending.is_set():
            return  # while it was looked for
        self.closed &= {path.name for path in there}
        for one in [*self.hosted.values()]:
            if there.get(one.folder) != one.identity:
                one.leave.set()
                if not one.busy:
                    del self.hosted[one.name]
            elif one.name in self.closed:
                one.leave.set()
        for folder, identity in there.items():
            one = self.hosted.setdefault(folder.name, Hosted(folder, identity))
            if not one.busy and one.name not in self.closed and time.monotonic() - one.tried > LATER:
                one.busy, one.tried, one.leave = True, time.monotonic(), anyio.Event()
                self._tasks.start_soon(self._serve, one)

    async def _serve(self, one: Hosted) -> None:
        """One project's life on this server."""
        try:
            check_folder_name(one.name)
            with locked(one.folder / "app.lock", one.folder):
                db = self.db if has_schema(one.folder) else None
                project = await run_in_threadpool(Project.open, one.folder, db)
                try:
                    await self._run(one, project)
                finally:
                    one.app = None
                    await _surely(project.close)
        except Exception as error:
            before, one.problem = one.problem, problem_sentence(error, one.folder)
            if one.problem != before:
                log.warning("%s: %s", one.folder, one.problem, exc_info=not isinstance(error, UserError))
        finally:
            one.busy = False
            one.settled.set()

    async def _run(self, one: Hosted, project: Project) -> None:
        app = create_app(project)
        app.state.local = self.local
        supervisor = Supervisor(project, self.turns)
        async with app.router.lifespan_context(app):
            one.app, one.problem = app, ""
            one.settled.set()
            supervisor.start()
            try:
                await one.leave.wait()
            finally:
                await _surely(supervisor.stop)


async def _surely(act: Callable[[], None]) -> None:
    """In a thread, also when the server ends at once."""
    with anyio.CancelScope(shield=True):
        await run_in_threadpool(act)


def project_folders(folder: Path) -> dict[Path, tuple[int, int]]:
    """The folders that are, or should be, projects, and which folders of the disk they are."""
    found = {}
    for path in sorted(folder.iterdir()):
        # It may be gone by now.
        if not path.name.startswith(".") and _may_be_a_project(path) and (identity := identity_of(path)):
            found[path] = identity
    return found


def _may_be_a_project(path: Path) -> bool:
    try:
        return any((path / file).exists() for file in ("project.json", "labels.db"))
    except OSError:
        return True  # one that may not be looked into: why is told when it is opened


def folder_name(title: str) -> str:
    """The folder of a project that is called so.

    >>> folder_name(" Tickets, 2024/25 <new> ")
    'Tickets-2024-25-new'
    """
    name = re.sub(r"[^\w.-]+", "-", title).strip("-._")[:LONGEST_NAME]
    if not name:
        raise UserError("The name of a project needs a letter or a digit.")
    return name


def check_folder_name(name: str) -> None:
    """Refuses one that would not be the same in an address."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise UserError("Rename this folder: only letters, digits, blanks, dots, dashes and underscores can be served.")


def problem_sentence(error: Exception, folder: Path) -> str:
    """What is wrong with a project, for its operator."""
    if isinstance(error, OSError):
        return f"The folder cannot be used ({error.strerror or error})."
    return error_sentence(error, folder)
