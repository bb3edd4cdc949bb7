"""The projects of a server, for its operator: list, rename, archive and delete them."""

from __future__ import annotations

from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.schema import Annotation, Person
from hybridal.app.labelling.consensus import counts
from hybridal.app.project_admin import title_of as title_in_file
from hybridal.app.project_settings import read
from hybridal.app.web.error_responses import status_and_message
from hybridal.app.web.host import Host, HostedProject, title_of
from hybridal.app.web.operator import AsOperator
from hybridal.app.web.project_threads import parts_in_thread
from hybridal.app.web.routes.project_routes import TrainerSchema, trainer_status
from hybridal.app.web.schemas import CleanStr, Done, Schema
from hybridal.sentences import Sentence

PROJECTS = "/p/"
router = APIRouter(prefix="/api/projects")


def host_of(request: Request) -> Host:
    """The projects of this server."""
    host: Host = request.app.state.host
    return host


class ProjectSummary(Schema):
    """A project on the start page.

    `problem` says why it cannot be served; `waits_for` are the projects that train before it. `archived` is the date
    since which it is not served; `last_label` is the time of its newest annotation. `labelled` and `planned` count a
    label and its copies to look-alikes once.
    """

    name: str
    address: str
    title: str
    problem: str = ""
    archived: str = ""
    people: list[str] = Field(default_factory=list)
    labelled: int = 0
    planned: int = 0
    texts: int = 0
    created: float | None = None
    last_label: float | None = None
    trainer: TrainerSchema | None = None
    waits_for: list[str] = Field(default_factory=list)


class ProjectList(Schema):
    """All projects, and the CSRF token that changes must be sent with."""

    csrf_token: str
    items: list[ProjectSummary]


@router.get("")
async def list_projects(user: AsOperator, request: Request) -> ProjectList:
    """All projects, including those that cannot be served."""
    host = host_of(request)
    projects = sorted(host.projects.items())
    return ProjectList(csrf_token=user.csrf_token, items=[await run_sync(summary, host, one) for _, one in projects])


class ProjectChange(Schema):
    """A new title for a project, or whether it is archived."""

    name: str = Field(max_length=200, description="The name of its folder.")
    title: CleanStr | None = Field(None, min_length=1, max_length=200)
    archived: bool | None = None


@router.patch("")
async def change_project(given: ProjectChange, _: AsOperator, request: Request) -> Done:
    """Rename a project, archive it, so that it is not served and its folder can be copied, or restore it."""
    host = host_of(request)
    if given.title is not None:
        await host.rename(given.name, " ".join(given.title.split()))
    if given.archived is not None:
        await (host.archive(given.name) if given.archived else host.restore(given.name))
    return Done()


class ProjectCopy(Schema):
    """The project to copy, and the title of the copy."""

    name: str = Field(max_length=200, description="The name of its folder.")
    title: CleanStr = Field(min_length=1, max_length=100)
    labels: bool = Field(description="Copy labels and people too, or only texts, classes and settings.")


@router.post("/duplicate")
async def duplicate_project(given: ProjectCopy, _: AsOperator, request: Request) -> ProjectSummary:
    """Copy a project under another title."""
    host = host_of(request)
    made = await host.duplicate(given.name, " ".join(given.title.split()), with_labels=given.labels)
    return await run_sync(summary, host, made)


@router.get("/export/{name}.zip")
def export_project(name: str, _: AsOperator, request: Request, model: bool = False) -> StreamingResponse:
    """The whole project as one file, to be imported on another server, with or without its model."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}.zip"}
    parts = parts_in_thread(host_of(request).export(name, model))
    return StreamingResponse(parts, media_type="application/zip", headers=headers)


class ProjectDeletion(Schema):
    """The project to delete, and its title, which confirms it."""

    name: str = Field(max_length=200, description="The name of its folder.")
    title: str = Field(max_length=200)


@router.post("/delete")
async def delete_project(given: ProjectDeletion, _: AsOperator, request: Request) -> Done:
    """Delete a project with all its texts, labels and models, for ever."""
    host = host_of(request)
    title = await run_sync(title_of, host.find(given.name))
    if " ".join(given.title.split()) != " ".join(title.split()):
        raise ConflictError(Sentence("To delete this project, type its name, '{name}'.", name=title[:100]))
    await host.delete(given.name)
    return Done()


def address_of(name: str) -> str:
    """The address of a project's app.

    >>> address_of("my mails")
    '/p/my%20mails'
    """
    return PROJECTS + quote(name)


def summary(host: Host, one: HostedProject) -> ProjectSummary:
    """The summary of one project; a failing database is reported as its `problem` and does not affect the others."""
    # File names can contain bytes that are not Unicode.
    name = one.name.encode(errors="replace").decode()
    # A folder must not be copied until its trainer has ended and its database is closed.
    archived = "" if one.busy else host.archived.get(one.name, "")
    plain = ProjectSummary(name=name, address=address_of(name), title=name, problem=one.problem, archived=archived)
    if (app := one.served) is None:
        title = title_in_file(one.folder).encode(errors="replace").decode()
        return plain.model_copy(update={"title": title})
    try:
        with app.state.project.reads() as session:
            settings, labels = read(session), counts(session)
            return plain.model_copy(
                update={
                    "title": settings["name"],
                    # A label and its copies are one label of the plan, as on the page Label.
                    "labelled": labels["labelled"] - labels["copied"],
                    "planned": min(settings["budget"], labels["texts"] - labels["copied"]),
                    "texts": labels["texts"],
                    **_activity(session),
                    "trainer": trainer_status(session),
                    "waits_for": host.turns.before(one.name),
                }
            )
    except SQLAlchemyError as error:
        return plain.model_copy(update={"problem": status_and_message(error)[1]})


def _activity(session: Session) -> dict[str, object]:
    """Who works on a project, and the time of the last activity."""
    people = session.execute(
        select(Person.name, Person.joined, Person.active).where(Person.kind == "person").order_by(Person.number)
    ).all()
    return {
        "people": [name for name, _, active in people if active],
        "created": people[0].joined,
        "last_label": session.scalar(select(Annotation.at).order_by(Annotation.number.desc()).limit(1)),
    }
