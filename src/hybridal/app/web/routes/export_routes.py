"""Routes for exports, for scoring all texts with the newest model, and for imports from Label Studio."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import Form, UploadFile
from fastapi.responses import StreamingResponse
from pydantic import Field
from sqlalchemy import select

from hybridal.app.audit_log import log_action
from hybridal.app.db.schema import Scoring, Text
from hybridal.app.exchange.archive_export import archive_parts
from hybridal.app.exchange.codebook_file import exported_codebook
from hybridal.app.exchange.label_studio import read_tasks
from hybridal.app.exchange.label_studio_export import export_tasks
from hybridal.app.exchange.label_studio_import import Imported, import_tasks
from hybridal.app.exchange.table_files import (
    LABEL_FORMATS,
    PREDICTION_FORMATS,
    ModelArchive,
    label_rows,
    prediction_rows,
)
from hybridal.app.labelling.codebook import newest_version
from hybridal.app.people import User
from hybridal.app.project import MODEL_FOLDER, Project
from hybridal.app.web.auth import Annotator, CurrentProject, Owner, Reviewer
from hybridal.app.web.project_threads import Router, parts_in_thread
from hybridal.app.web.schemas import CleanStr, Done, Schema
from hybridal.errors import UserError
from hybridal.sentences import translatable
from hybridal.system.files import strict_json

router = Router(prefix="/api")

_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "spreadsheet.csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "zip": "application/zip",
}
Name = Annotated[str, Form(max_length=200)]


def _file_response(*kinds: str) -> dict[str, Any]:
    """The response of a file route, for the OpenAPI document."""
    bytes_, tasks = {"type": "string", "format": "binary"}, {"type": "array", "items": {"type": "object"}}
    content = {_TYPES[kind].partition(";")[0]: {"schema": tasks if kind == "json" else bytes_} for kind in kinds}
    return {"response_class": StreamingResponse, "responses": {200: {"content": content, "description": "The file."}}}


@router.get("/export/labels.{kind}", **_file_response("csv", "jsonl", "parquet"))
def labels_file(
    kind: Literal["csv", "spreadsheet.csv", "jsonl", "parquet"], user: Reviewer, project: CurrentProject
) -> StreamingResponse:
    """All texts that were labelled or skipped. In `spreadsheet.csv`, cells that look like formulas start with `'`."""
    _log(project, user, f"labels.{kind}")
    return _file(LABEL_FORMATS[kind](label_rows(project.reads)), "labels", kind)


@router.get("/export/predictions.{kind}", **_file_response("csv", "parquet"))
def predictions_file(
    kind: Literal["csv", "spreadsheet.csv", "parquet"], user: Reviewer, project: CurrentProject
) -> StreamingResponse:
    """The predictions for all scored texts."""
    _log(project, user, f"predictions.{kind}")
    return _file(PREDICTION_FORMATS[kind](prediction_rows(project)), "predictions", kind)


@router.get("/export/model.zip", **_file_response("zip"))
def model_file(user: Reviewer, project: CurrentProject) -> StreamingResponse:
    """The folder of the newest model that is finished or has scored all texts."""
    archive = ModelArchive(project.exports)
    _log(project, user, "model.zip")
    return _file(archive.parts(), "model", "zip")


@router.get("/export/project.zip", **_file_response("zip"))
def project_file(user: Owner, project: CurrentProject, model: bool = False) -> StreamingResponse:
    """The whole project as one file, to be imported on another server, with or without its model."""
    parts = archive_parts(project, with_model=model)
    _log(project, user, "project.zip", model=model)
    return _file(parts, "project", "zip")


@router.get("/export/label-studio.json", **_file_response("json"))
def label_studio_file(user: Reviewer, project: CurrentProject, anonymous: bool = False) -> StreamingResponse:
    """All texts as tasks. Label Studio accepts annotations only by its own users, or `anonymous` ones."""
    _log(project, user, "label-studio.json")
    return _file(export_tasks(project.reads, anonymous), "label-studio", "json")


@router.get(
    "/export/codebook.json",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}, "description": "The file."}},
)
def codebook_file(user: Reviewer, project: CurrentProject) -> StreamingResponse:
    """The classes as they are now, and all versions of the codebook, so that labels of each version can be read."""
    with project.reads() as session:
        found = exported_codebook(session)
    _log(project, user, "codebook.json")
    return _file(iter([strict_json(found, indent=2).encode() + b"\n"]), "codebook", "json")


@router.post("/import/label-studio")
def from_label_studio(
    file: UploadFile,
    _: Owner,
    project: CurrentProject,
    text: Name = "",
    choices: Name = "",
    as_members: Annotated[bool, Form()] = False,
) -> Imported:
    """Import an export of Label Studio; `text` names the field of the text, `choices` the control of the class.

    With `as_members`, annotators of the file are matched to people of this project by name.
    """
    try:
        data = json.load(file.file)
    except (ValueError, RecursionError) as error:
        raise UserError(translatable("The file is not JSON; export from Label Studio in the format JSON.")) from error
    tasks = read_tasks(data, text or None, choices or None, project.setting("multi_label"))
    return import_tasks(project.sessions, tasks, as_members)


class ScoringSchema(Schema):
    """The newest model's progress in scoring all texts; `error` says why scoring paused by itself.

    `has_model` says whether there is a model folder to download.
    """

    state: str
    round: int
    done: int
    total: int
    seconds_left: float | None
    error: str
    has_model: bool


class ScoringRequest(Schema):
    """Pause or resume scoring."""

    request: Literal["pause", "resume"]


class ScoreFirst(Schema):
    """The ids of texts to score first."""

    texts: list[CleanStr] = Field(min_length=1, max_length=100, examples=[["t17"]])


@router.get("/scoring")
def get_scoring(_: Annotator, project: CurrentProject) -> ScoringSchema:
    """The progress of scoring all texts."""
    with project.reads() as session:
        return _scoring(session.get_one(Scoring, 1), project)


@router.post("/scoring")
def request_scoring(wanted: ScoringRequest, _: Reviewer, project: CurrentProject) -> ScoringSchema:
    """Pause or resume scoring; the trainer finishes the texts that it is currently scoring."""
    with project.sessions.begin() as session:
        scoring = session.get_one(Scoring, 1, with_for_update=True)
        scoring.state, scoring.error = {"pause": "paused", "resume": "running"}[wanted.request], ""
        return _scoring(scoring, project)


def _scoring(row: Scoring, project: Project) -> ScoringSchema:
    facts = {name: getattr(row, name) for name in ("state", "round", "done", "total", "seconds_left", "error")}
    return ScoringSchema(**facts, has_model=(project.exports / MODEL_FOLDER).is_dir())


@router.post("/scoring/first")
def score_first(given: ScoreFirst, _: Annotator, project: CurrentProject) -> Done:
    """Score these texts before all others with the newest model."""
    with project.sessions.begin() as session:
        rows = session.scalars(select(Text.row).where(Text.id.in_(given.texts))).all()
        session.get_one(Scoring, 1, with_for_update=True).first = ",".join(map(str, rows))
    return Done()


def _log(project: Project, user: User, file: str, **details: Any) -> None:
    """Log an export before it is sent."""
    with project.sessions.begin() as session:
        log_action(session, user.person, "exports", "export", file=file, codebook=newest_version(session), **details)


def _file(parts: Iterator[bytes], name: str, kind: str) -> StreamingResponse:
    """Stream a file while it is written."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingResponse(parts_in_thread(parts), media_type=_TYPES[kind], headers=headers)
