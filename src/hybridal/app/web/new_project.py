"""The routes with which the start page creates a project: upload a file, look at it, then create all at once."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Annotated, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Form, Request, UploadFile
from pydantic import Field

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.exchange.archive_reader import ProjectArchive
from hybridal.app.labelling.classes import MAX_CLASSES
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import Progress
from hybridal.app.project_creation import ProjectPlan
from hybridal.app.web.file_previews import (
    Column,
    Held,
    LabelColumns,
    PreviewSchema,
    Separator,
    Upload,
    chosen_columns,
    preview_upload,
    read_upload,
)
from hybridal.app.web.held_files import HeldFiles
from hybridal.app.web.host import Host
from hybridal.app.web.operator import AsOperator, Operator
from hybridal.app.web.project_list import ProjectSummary, address_of, host_of, summary
from hybridal.app.web.routes.uploads_routes import AddingSchema
from hybridal.app.web.schemas import CleanStr, ListedClass, Schema, entry
from hybridal.backbones.auto_candidates import AUTO
from hybridal.backbones.catalogue import CATALOGUE
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable

router = APIRouter(prefix="/api")
ARCHIVES = "/api/projects/archives"
OPERATOR = 0  # numbers of people begin at 1
MAX_INVITATIONS = 50


@router.post("/uploads")
def preview_new_texts(
    _: AsOperator,
    held: Held,
    file: UploadFile | None = None,
    upload: Upload = "",
    text: Column = "",
    label: LabelColumns = [],  # noqa: B006 (FastAPI copies it)
    id: Column = "",
    label_separator: Separator = "",
    description: Column = "",
    multi_label: Annotated[bool | None, Form(description="None: the labels tell.")] = None,
) -> PreviewSchema:
    """Preview a file for a new project; without a column for `text` the columns are guessed."""
    columns = chosen_columns(text, label, id)
    return preview_upload(held, OPERATOR, file, upload, columns, multi_label, label_separator, description)


@router.get("/uploads/{upload}")
def get_new_upload(upload: str, _: AsOperator, held: Held) -> AddingSchema:
    """How much of an uploaded file was taken over so far, in texts, or bytes of an export; 0 also before and after."""
    try:
        found = held.find(upload, OPERATOR)
    except MissingError:
        return AddingSchema(done=0, total=0)
    return AddingSchema(done=found.done, total=found.total)


class NewProjectSchema(Schema):
    """A new project. `upload` is the token of a previewed file; `text`, `label` and `id` are its columns."""

    name: CleanStr = Field(min_length=1, max_length=100, examples=["Tickets"])
    multi_label: bool = Field(False, description="Whether a text may have several classes, or none.")
    upload: str = Field("", max_length=50)
    text: str = Field("", max_length=200)
    label: list[Annotated[str, Field(max_length=200)]] = Field(default_factory=list, max_length=MAX_CLASSES)
    id: str = Field("", max_length=200)
    label_separator: str = Field("", max_length=20)
    drop_empty: bool = True
    drop_duplicates: bool = True
    suggested: bool = Field(False, description="Labels of the file are suggestions only.")
    classes: list[ListedClass] = Field(default_factory=list, max_length=MAX_CLASSES)
    invitations: list[Literal["annotator", "reviewer", "owner"]] = Field(
        default_factory=list, max_length=MAX_INVITATIONS, description="The role of each person to invite."
    )
    backbone: str | None = Field(None, max_length=200, description="The encoder; `auto` lets the labels choose.")
    budget: int | None = Field(None, description="Labels planned.")
    page_language: str = Field("", max_length=20, description="Of the pages for people who have not chosen one.")
    validation_share: float | None = Field(None, description="Share of the labels set aside for validation.")


class NewInvitation(Schema):
    """The path of an invitation link, which is shown only once."""

    role: str
    path: str


class CreatedProject(ProjectSummary):
    """The project that was created, and its invitations."""

    invitations: list[NewInvitation]


@router.post("/projects")
async def create_project(given: NewProjectSchema, _: AsOperator, held: Held, request: Request) -> CreatedProject:
    """Create a project of a previewed file, or without texts, which can be added on its page Settings."""
    host = host_of(request)
    if given.invitations and not can_invite(request):
        raise ConflictError(
            translatable(
                "Nobody can be invited here: only this machine reaches the server, or a proxy signs people in."
            )
        )
    plan, on_progress = await run_sync(_plan, given, held, host)
    made, tokens = await host.create(plan, on_progress)
    held.drop(given.upload)
    paths = [f"{address_of(made.name)}/join/{token}" for token in tokens]
    facts = await run_sync(summary, host, made)
    invitations = [NewInvitation(role=role, path=path) for role, path in zip(given.invitations, paths, strict=True)]
    return CreatedProject(**facts.model_dump(), invitations=invitations)


class ArchiveSchema(Schema):
    """An uploaded export: its token, the title of its project, and the size of its model, 0 without one."""

    upload: str
    title: str
    model_bytes: int


@router.post("/projects/archives")
def upload_archive(file: UploadFile, _: AsOperator, held: Held) -> ArchiveSchema:
    """Upload the export of a project. It is kept for half an hour, so that a refused import can be tried otherwise."""
    upload = held.hold(file, OPERATOR)
    try:
        with held.opened(upload, OPERATOR) as kept, closing(ProjectArchive(kept.path)) as archive:
            return ArchiveSchema(upload=upload, title=archive.name, model_bytes=archive.model_bytes)
    except UserError:
        held.drop(upload)
        raise


class ProjectImport(Schema):
    """An uploaded export to import, under another title or its own, with or without its model."""

    upload: str = Field(max_length=50)
    title: CleanStr = Field("", max_length=100)
    model: bool = False


@router.post("/projects/import")
async def import_project(given: ProjectImport, _: AsOperator, held: Held, request: Request) -> ProjectSummary:
    """Create a project from an uploaded export."""
    host = host_of(request)
    kept = await run_sync(held.find, given.upload, OPERATOR)
    made = await host.import_project(
        kept.path, " ".join(given.title.split()), encoders(host), with_model=given.model, on_progress=kept.progress
    )
    held.drop(given.upload)
    return await run_sync(summary, host, made)


def can_invite(request: Request) -> bool:
    """Whether other people can reach this server and have passwords."""
    operator: Operator = request.app.state.operator
    return not host_of(request).local and operator.named is None


def encoders(host: Host) -> list[str]:
    """The encoders to choose from, the default first: the one that the server was started with, else `auto`."""
    return [*dict.fromkeys([host.settings.get("backbone", AUTO), AUTO, *CATALOGUE])]


def _plan(given: NewProjectSchema, held: HeldFiles, host: Host) -> tuple[ProjectPlan, Progress]:
    name = " ".join(given.name.split())
    source = Source(name, [], multi_label=given.multi_label)
    on_progress: Progress = _ignore
    if given.upload:
        with held.opened(given.upload, OPERATOR) as kept:
            if not given.text:
                raise UserError(translatable("Choose the column of the texts."))
            source = read_upload(
                kept.path,
                given.text,
                given.label,
                given.id,
                drop_empty=given.drop_empty,
                drop_duplicates=given.drop_duplicates,
                suggested=given.suggested,
                multi_label=given.multi_label,
                label_separator=given.label_separator or None,
            )
            on_progress = kept.progress
    backbone = given.backbone or encoders(host)[0]
    if backbone not in encoders(host):
        raise UserError(
            Sentence(
                "There is no encoder '{name}' to choose; take one of {encoders}.",
                name=backbone[:40],
                encoders=", ".join(encoders(host)),
            )
        )
    settings = {
        "backbone": backbone,
        "budget": given.budget,
        "validation_share": given.validation_share,
        "page_language": given.page_language,
    }
    plan = ProjectPlan(
        replace(source, name=name, multi_label=given.multi_label),
        [entry(one) for one in given.classes],
        given.invitations,
        {name: value for name, value in settings.items() if value is not None},
    )
    return plan, on_progress


def _ignore(_done: int, _total: int) -> None: ...
