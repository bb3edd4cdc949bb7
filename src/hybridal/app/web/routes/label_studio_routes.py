"""Routes of Label Studio's ML backend protocol. No route trains: the trainer finds new labels by itself."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Depends, Request

from hybridal.app.app_errors import ForbiddenError, SignInError
from hybridal.app.exchange.label_studio import LabelConfig, read_config
from hybridal.app.exchange.label_studio_export import model_version, predict_tasks
from hybridal.app.exchange.label_studio_import import handle_event
from hybridal.app.people import may
from hybridal.app.web.auth import LABEL_STUDIO_PREFIX, CurrentProject, user_of
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Schema
from hybridal.errors import UserError

Sent = Annotated[dict[str, Any], Body()]


async def check_token(request: Request) -> None:
    """Require a token of this project with a reviewer's role; routes below /ml accept no cookies."""
    found = user_of(request)
    if found is None:
        raise SignInError("Send a token of this project; a reviewer or an owner can create one on the page Programs.")
    if not may(found.role, "reviewer"):
        raise ForbiddenError("This token is an annotator's; Label Studio needs a reviewer's.")


router = Router(prefix=LABEL_STUDIO_PREFIX.rstrip("/"), dependencies=[Depends(check_token)])


class Health(Schema):
    """The server is running."""

    status: str = "UP"
    model_class: str = "hybridal"


class Version(Schema):
    """The version of the newest model."""

    model_version: str


class Predictions(Schema):
    """One prediction for each task of the request."""

    results: list[dict[str, Any]]
    model_version: str


class EventResult(Schema):
    """The outcome of an event, and the number of changed annotations."""

    status: str
    annotations: int


@router.get("/health")
def health() -> Health:
    """Check that the server is running."""
    return Health()


@router.post("/setup")
def setup(sent: Sent, project: CurrentProject) -> Version:
    """Check the labelling configuration of a Label Studio project."""
    if sent.get("schema") and read_config(sent["schema"]) is None:
        raise UserError("The labelling configuration has no Choices about a Text.")
    with project.reads() as session:
        return Version(model_version=model_version(session))


@router.post("/predict")
def predictions(sent: Sent, project: CurrentProject) -> Predictions:
    """The newest model's predictions for tasks."""
    tasks = sent.get("tasks")
    if not isinstance(tasks, list):
        raise UserError("The request has no tasks.")
    with project.reads() as session:
        found = predict_tasks(session, tasks, read_config(sent.get("label_config")) or LabelConfig())
        return Predictions(results=found, model_version=model_version(session))


@router.post("/webhook", status_code=201)
def webhook(sent: Sent, project: CurrentProject) -> EventResult:
    """Apply changes of annotations in Label Studio; the trainer finds new labels by itself."""
    changed = handle_event(project.sessions, sent)
    return EventResult(status="ok" if changed else "nothing to do", annotations=changed)
