"""Routes for adding texts from files: a preview, which keeps the file, then the upload and its progress."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Form, Request, UploadFile
from pydantic import Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from hybridal.app.app_errors import MissingError
from hybridal.app.labelling.text_source import Source, preview_file, read_source
from hybridal.app.labelling.texts import Progress, add_in_parts
from hybridal.app.project import Project
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.held_files import HeldFiles
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Schema
from hybridal.app.web.uploads import saved_upload
from hybridal.errors import UserError
from hybridal.tasks.columns import Columns
from hybridal.tasks.table import NoColumnError


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Delete the files that were previewed and not added when the server stops."""
    yield
    await run_in_threadpool(app.state.held.close)


router = Router(prefix="/api", lifespan=lifespan)


def held_files(request: Request) -> HeldFiles:
    """The previewed files of this app."""
    found: HeldFiles = request.app.state.held
    return found


MAX_ROWS = 1_000_000
Column = Annotated[str, Form(max_length=200)]
Choice = Annotated[bool, Form()]
LabelColumns = Annotated[
    list[Annotated[str, StringConstraints(max_length=200)]],
    Form(description="The column of labels; several columns hold 0 or 1 for each class."),
]
Separator = Annotated[
    str, Form(max_length=20, description="What stands between the classes of a text, if it may have several.")
]
Upload = Annotated[str, Form(max_length=50, description="Instead of a file: the token of one that was previewed.")]
Held = Annotated[HeldFiles, Depends(held_files)]


class PreviewSchema(Schema):
    """The columns and first rows of a file, the chosen columns, and what an upload would add; see `preview_file`.

    The server keeps the file for half an hour; `upload` is its token.
    """

    upload: str
    columns: list[str]
    first: list[list[str]]
    text: str
    label: str | list[str] | None
    id: str | None
    rows: int
    empty: int
    duplicates: int
    labelled: int = Field(description="How many rows have a label.")
    labels: dict[str, int]
    multi_label: bool = Field(description="Whether a text of the file may have several classes.")
    problem: str
    notices: list[str]


class AddedSchema(Schema):
    """Numbers of texts that were added, were known already, had no text, or were duplicates within the file."""

    added: int
    known: int
    empty: int
    duplicates: int


class AddingSchema(Schema):
    """How many texts of a previewed file were added so far, and how many will be."""

    done: int
    total: int


@router.post("/texts/preview")
def preview_texts(
    user: Owner,
    project: CurrentProject,
    held: Held,
    file: UploadFile | None = None,
    upload: Upload = "",
    text: Column = "",
    label: LabelColumns = [],  # noqa: B006 (FastAPI copies it)
    id: Column = "",
    label_separator: Separator = "",
) -> PreviewSchema:
    """Preview a file before its texts are added. Without a column for `text`, the columns are guessed."""
    chosen, person = Columns(text, _columns(label), id or None) if text else None, user.person.number
    token = upload if file is None else held.hold(file, person)
    try:
        with held.opened(token, person) as kept:
            several = project.setting("multi_label") or None
            found, path = preview_file(kept.path, chosen, MAX_ROWS, several, label_separator or None), kept.path
    except UserError:
        if file is not None:
            held.drop(token)
        raise
    # Do not reveal the temporary folder of the file.
    problem, *notices = (one.replace(str(path), path.name) for one in (found.problem, *found.notices))
    facts = {**vars(found), **vars(found.chosen), "problem": problem, "notices": notices}
    del facts["chosen"]
    return PreviewSchema(upload=token, **facts)


@router.get("/uploads/{upload}")
def get_upload(upload: str, user: Owner, held: Held) -> AddingSchema:
    """The progress of adding the texts of a previewed file; 0 also before they are added, and after."""
    try:
        found = held.find(upload, user.person.number)
    except MissingError:
        return AddingSchema(done=0, total=0)
    return AddingSchema(done=found.done, total=found.total)


@router.post("/texts")
def upload_texts(
    user: Owner,
    project: CurrentProject,
    held: Held,
    file: UploadFile | None = None,
    upload: Upload = "",
    text: Column = "",
    label: LabelColumns = [],  # noqa: B006
    id: Column = "",
    label_separator: Separator = "",
    drop_empty: Choice = False,
    drop_duplicates: Choice = False,
    suggested: Choice = False,
) -> AddedSchema:
    """Add the texts of a file; `text`, `label` and `id` name its columns, and the others are kept as context.

    The file's labels count as labels, or with `suggested` are only shown to the person labelling. In a project with
    several classes per text they are lists, JSON lists in cells, or as `label_separator` says.
    """

    def read(path: Path) -> Source:
        try:
            return read_source(
                path,
                text=text or None,
                label=_columns(label),
                id=id or None,
                most=MAX_ROWS,
                drop_empty=drop_empty,
                drop_duplicates=drop_duplicates,
                suggested=suggested,
                multi_label=project.setting("multi_label") or None,
                label_separator=label_separator or None,
            )
        except NoColumnError as error:
            raise UserError(f"{error.found}: choose the columns of texts, labels and ids.") from error

    if file is not None:
        with saved_upload(file) as path:
            source = read(path)
        return _add(project, source)
    with held.opened(upload, user.person.number) as kept:
        added = _add(project, read(kept.path), kept.progress)
    held.drop(upload)
    return added


def _columns(label: list[str]) -> str | tuple[str, ...] | None:
    """The label column, or several indicator columns; pages send an empty name for none."""
    names = tuple(filter(None, label))
    return (names[0] if len(names) == 1 else names) if names else None


def _add(project: Project, source: Source, on_progress: Progress = lambda _done, _total: None) -> AddedSchema:
    added = add_in_parts(
        project.sessions,
        source.rows,
        numbered=source.numbered,
        suggested=source.suggested,
        on_progress=on_progress,
    )
    return AddedSchema(added=added.added, known=added.known, empty=source.empty, duplicates=source.duplicates)
