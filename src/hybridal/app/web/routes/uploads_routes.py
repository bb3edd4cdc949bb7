"""Routes for adding texts from files: a preview, which keeps the file, then the upload and its progress."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, UploadFile
from starlette.concurrency import run_in_threadpool

from hybridal.app.app_errors import MissingError
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import Progress, add_in_parts
from hybridal.app.project import Project
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.file_previews import (
    Choice,
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
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Schema
from hybridal.app.web.uploads import saved_upload


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Delete the files that were previewed and not added when the server stops."""
    yield
    await run_in_threadpool(app.state.held.close)


router = Router(prefix="/api", lifespan=lifespan)


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
    several = project.setting("multi_label") or None
    columns = chosen_columns(text, label, id)
    return preview_upload(held, user.person.number, file, upload, columns, several, label_separator)


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
        return read_upload(
            path,
            text,
            label,
            id,
            drop_empty=drop_empty,
            drop_duplicates=drop_duplicates,
            suggested=suggested,
            multi_label=project.setting("multi_label") or None,
            label_separator=label_separator or None,
        )

    if file is not None:
        with saved_upload(file) as path:
            source = read(path)
        return _add(project, source)
    with held.opened(upload, user.person.number) as kept:
        added = _add(project, read(kept.path), kept.progress)
    held.drop(upload)
    return added


def _add(project: Project, source: Source, on_progress: Progress = lambda _done, _total: None) -> AddedSchema:
    added = add_in_parts(
        project.sessions,
        source.rows,
        numbered=source.numbered,
        suggested=source.suggested,
        on_progress=on_progress,
    )
    return AddedSchema(added=added.added, known=added.known, empty=source.empty, duplicates=source.duplicates)
