"""Serve all projects of a folder: new ones as they appear, and each until it is archived or its folder is removed."""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from hybridal.app import project_admin
from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.audit_log import log_action
from hybridal.app.exchange.archive_export import archive_parts
from hybridal.app.exchange.archive_reader import ProjectArchive
from hybridal.app.exchange.project_archive import copy_without_labels, import_project
from hybridal.app.labelling.codebook import newest_version
from hybridal.app.labelling.texts import Progress
from hybridal.app.people import project_owner
from hybridal.app.project import Project, has_schema
from hybridal.app.project_creation import ProjectPlan, create_project
from hybridal.app.trainer.publish import error_sentence
from hybridal.app.trainer.supervisor import Supervisor
from hybridal.app.trainer.trainer_slots import TrainerQueue
from hybridal.app.web.web_app import create_app
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable
from hybridal.system.files import folder_made_whole, identity_of
from hybridal.system.lock import locked
from hybridal.system.private import close_to_others
from hybridal.system.scratch import scratch

SCAN_SECONDS = 2.0  # between two scans of the folder
FRESH_SECONDS = 0.5  # for which a folder that existed is not checked again
RETRY_SECONDS = 10.0  # until a project that could not be opened is tried again
LONGEST_NAME = 100
_NAME = re.compile(r"\w[\w .-]*")  # without quotes, slashes and brackets, because it becomes part of an address
log = logging.getLogger(__name__)


class HostedProject:
    """A project folder: its app while it is served, else one sentence that says why it is not.

    Attributes:
        folder: The project's folder.
        identity: Device and inode of the folder, which tell it from another folder moved to the same name.
        app: The running app, or None.
        problem: Why the project cannot be served; empty if it can.
        busy: Whether a task is opening, serving or closing it.
        tried: Time of the last attempt to open it.
        leave: Set to stop serving it.
        settled: Set once it is served or has a problem.
        stopped: Set once no task is working on it any more.
    """

    def __init__(self, folder: Path, identity: tuple[int, int]) -> None:
        self.folder, self.identity = folder, identity
        self.app: FastAPI | None = None
        self.problem = ""
        self.busy = False
        self.tried = -math.inf
        self.leave = anyio.Event()
        self.settled = anyio.Event()
        self.stopped = anyio.Event()
        self._seen = -math.inf  # when the folder was last known to exist
        self._looking = anyio.CapacityLimiter(1)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def served(self) -> FastAPI | None:
        """Its app, or None once it is to be stopped or its folder was replaced. Reads the disk."""
        there = identity_of(self.folder) == self.identity
        self._seen = time.monotonic() if there else -math.inf
        return self.app if there and not self.leave.is_set() else None

    async def find_app(self) -> FastAPI | None:
        """`served` for the event loop: a hanging disk delays only requests for this project."""
        if time.monotonic() - self._seen > FRESH_SECONDS:
            return await to_thread.run_sync(lambda: self.served, limiter=self._looking)
        return None if self.leave.is_set() else self.app


class NewProject(NamedTuple):
    """A project that was created, and the secret of each invitation's link."""

    project: HostedProject
    invitations: list[str]


class Host:
    """Watch a folder: serve projects soon after they are moved into it, and stop when they are moved away."""

    def __init__(
        self, folder: Path, turns: TrainerQueue, *, local: bool, settings: Mapping[str, Any], db: str | None = None
    ) -> None:
        self.folder, self.turns, self.local = folder, turns, local
        self.db = db  # PostgreSQL database in which each new project gets a schema
        self.settings = settings  # of new projects
        self.projects: dict[str, HostedProject] = {}
        self.archived: dict[str, str] = {}  # by name: since when
        self._leaving: set[str] = set()  # being deleted
        self._ending: anyio.Event
        self._scanning: anyio.Lock
        self._tasks: TaskGroup

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve all projects inside the context, and stop them at its end."""
        self._ending, self._scanning = anyio.Event(), anyio.Lock()
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._watch)
            try:
                yield
            finally:
                self._ending.set()
                for one in self.projects.values():
                    one.leave.set()

    async def create(self, plan: ProjectPlan, on_progress: Progress = lambda _done, _total: None) -> NewProject:
        """Create a project and serve it."""
        plan = replace(plan, settings={**self.settings, **plan.settings})
        tokens: list[str] = []
        made = await self._make(
            plan.source.name, lambda folder: tokens.extend(create_project(plan, folder, self.db, on_progress))
        )
        return NewProject(made, tokens)

    async def duplicate(self, name: str, title: str, *, with_labels: bool) -> HostedProject:
        """Copy a project under another title; without its labels also without its people and its model."""
        project = self._opened(name)

        def copy(folder: Path) -> None:
            with scratch() as place:
                file = place / "project.zip"
                with file.open("wb") as target:
                    target.writelines(archive_parts(project, with_model=True))
                import_project(file, folder, self.db, title=title, trusted=True, with_model=True)

        def copy_texts(folder: Path) -> None:
            copy_without_labels(project, folder, self.db, title=title)

        return await self._make(title, copy if with_labels else copy_texts)

    async def import_project(
        self,
        file: Path,
        title: str,
        encoders: Sequence[str],
        *,
        with_model: bool = False,
        on_progress: Progress = lambda _done, _total: None,
    ) -> HostedProject:
        """Create a project from an export, and serve it.

        Args:
            file: The export.
            title: The name of the project; "" takes over the one that it had.
            encoders: Encoders that it may use; instead of another one it uses the first.
            with_model: Import its model too, if it has one.
            on_progress: Receives how many bytes of the unpacked files were read, and how many there are.
        """
        if not title:
            title = await run_in_threadpool(_title_in_archive, file)

        def make(folder: Path) -> None:
            import_project(
                file,
                folder,
                self.db,
                title=title,
                encoders=encoders,
                with_model=with_model,
                on_progress=on_progress,
            )

        return await self._make(title, make)

    async def _make(self, title: str, make: Callable[[Path], object]) -> HostedProject:
        """Let `make` create a project in an empty folder, and serve it under the folder name of its title."""
        name = folder_name(title)
        await run_in_threadpool(_made_whole, self.folder / name, make)
        await self.scan()
        await self.projects[name].settled.wait()
        return self.projects[name]

    def export(self, name: str, with_model: bool) -> Iterator[bytes]:
        """Log the export of a whole project, and return the parts of its archive."""
        project = self._opened(name)
        parts = archive_parts(project, with_model=with_model)
        with project.sessions.begin() as session:
            details = {"file": "project.zip", "model": with_model, "codebook": newest_version(session)}
            log_action(session, project_owner(session), "exports", "export", **details)
        return parts

    def _opened(self, name: str) -> Project:
        one = self.find(name)
        if one.app is None:
            raise ConflictError(translatable("This project is not open; restore it, or solve its problem, first."))
        project: Project = one.app.state.project
        return project

    async def rename(self, name: str, title: str) -> None:
        """Change the title of a project; its folder and its address stay."""
        await run_in_threadpool(self._opened(name).decide, {"name": title})

    async def archive(self, name: str) -> None:
        """Stop serving a project until it is restored; its folder can then be copied or moved."""
        one = self.find(name)
        await run_in_threadpool(project_admin.archive, one.folder, await run_in_threadpool(title_of, one))
        await self.scan()

    async def restore(self, name: str) -> None:
        """Serve an archived project again."""
        one = self.find(name)
        if name in self.archived:
            await run_in_threadpool(project_admin.restore, one.folder)
        one.tried = -math.inf
        await self.scan()

    async def delete(self, name: str) -> None:
        """Delete a project with its folder and its tables."""
        one = self.find(name)
        self._leaving.add(name)
        try:
            await self.scan()
            if one.busy:
                await one.stopped.wait()
            await run_in_threadpool(self._delete, one.folder)
        finally:
            self._leaving.discard(name)
            one.tried = -math.inf
            await self.scan()

    def _delete(self, folder: Path) -> None:
        with locked(folder / "app.lock", folder):
            project_admin.delete(folder, self.db if has_schema(folder) else None)

    def find(self, name: str) -> HostedProject:
        """The project of this name, served or not."""
        if name not in self.projects:
            raise MissingError(translatable("There is no such project on this server."))
        return self.projects[name]

    async def _watch(self) -> None:
        while not self._ending.is_set():
            try:
                await self.scan()
            except OSError as error:
                log.warning("%s cannot be read (%s); running projects are still served.", self.folder, error.strerror)
            with anyio.move_on_after(SCAN_SECONDS):
                await self._ending.wait()

    async def scan(self) -> None:
        """Start and stop projects so that those served match the folders on disk."""
        async with self._scanning:  # an older look at the disk must not undo a newer one
            await self._scan()

    async def _scan(self) -> None:
        there = await run_in_threadpool(project_folders, self.folder)
        archived = await run_in_threadpool(_archived, there)
        if self._ending.is_set():
            return  # the server began to stop during the scan
        self.archived = archived
        unserved = self._leaving | archived.keys()
        for one in [*self.projects.values()]:
            if there.get(one.folder) != one.identity:
                one.leave.set()
                if not one.busy:
                    del self.projects[one.name]
            elif one.name in unserved:
                one.leave.set()
        for folder, identity in there.items():
            one = self.projects.setdefault(folder.name, HostedProject(folder, identity))
            if not one.busy and one.name not in unserved and time.monotonic() - one.tried > RETRY_SECONDS:
                one.busy, one.tried, one.leave, one.stopped = True, time.monotonic(), anyio.Event(), anyio.Event()
                self._tasks.start_soon(self._serve, one)

    async def _serve(self, one: HostedProject) -> None:
        """Open a project, serve it until `leave` is set, and close it."""
        try:
            check_folder_name(one.name)
            with locked(one.folder / "app.lock", one.folder):
                db = self.db if has_schema(one.folder) else None
                project = await run_in_threadpool(Project.open, one.folder, db)
                try:
                    await self._run(one, project)
                finally:
                    one.app = None
                    await _run_shielded(project.close)
        except Exception as error:
            before, one.problem = one.problem, problem_sentence(error, one.folder)
            if one.problem != before:
                log.warning("%s: %s", one.folder, one.problem, exc_info=not isinstance(error, UserError))
        finally:
            one.busy = False
            one.settled.set()
            one.stopped.set()

    async def _run(self, one: HostedProject, project: Project) -> None:
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
                await _run_shielded(supervisor.stop)


async def _run_shielded(act: Callable[[], None]) -> None:
    """Run in a thread to completion, even if this task is cancelled."""
    with anyio.CancelScope(shield=True):
        await run_in_threadpool(act)


def _made_whole(target: Path, make: Callable[[Path], object]) -> None:
    if target.exists():
        raise ConflictError(Sentence("There is a folder '{name}' already; choose another name.", name=target.name))
    with folder_made_whole(target) as folder:
        make(folder)
    close_to_others([target, *target.iterdir()])


def _title_in_archive(file: Path) -> str:
    with closing(ProjectArchive(file)) as archive:
        return archive.name


def project_folders(folder: Path) -> dict[Path, tuple[int, int]]:
    """The folders that look like projects, each with its device and inode."""
    found = {}
    for path in sorted(folder.iterdir()):
        # `identity_of` returns None if the folder has been removed meanwhile.
        if not path.name.startswith(".") and _may_be_a_project(path) and (identity := identity_of(path)):
            found[path] = identity
    return found


def _archived(folders: Iterable[Path]) -> dict[str, str]:
    """Since when each archived project is, by its name."""
    return {path.name: since for path in folders if (since := project_admin.archived_since(path))}


def title_of(one: HostedProject) -> str:
    """The title of a project, also while it is not served. Reads the database or the disk."""
    if (app := one.served) is not None:
        with suppress(SQLAlchemyError):
            return str(app.state.project.setting("name"))
    return project_admin.title_of(one.folder)


def _may_be_a_project(path: Path) -> bool:
    try:
        return any((path / file).exists() for file in ("project.json", "labels.db"))
    except OSError:
        return True  # an unreadable folder; opening it reports why


def folder_name(title: str) -> str:
    """The folder name for a project's title.

    >>> folder_name(" Tickets, 2024/25 <new> ")
    'Tickets-2024-25-new'
    """
    name = re.sub(r"[^\w.-]+", "-", title).strip("-._")[:LONGEST_NAME]
    if not name:
        raise UserError(translatable("The name of a project needs a letter or a digit."))
    return name


def check_folder_name(name: str) -> None:
    """Raise if a folder name could not be used unchanged in an address."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise UserError(
            translatable("Rename this folder: its name may contain only letters, digits, spaces, . - and _.")
        )


def problem_sentence(error: Exception, folder: Path) -> str:
    """The sentence that tells the operator why a project cannot be served."""
    if isinstance(error, OSError):
        return f"The folder cannot be used ({error.strerror or error})."
    return error_sentence(error, folder)
