"""What a Label Studio instance calls when this project is its ML backend. Training is not done in a request."""

from __future__ import annotations

import os
from base64 import b64decode
from hmac import compare_digest
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request

from hybridal.app.errors import ForbiddenError, SignInError
from hybridal.app.exchange.label_studio import LabelConfig, read_config
from hybridal.app.exchange.label_studio_export import model_version, predict_tasks
from hybridal.app.exchange.label_studio_import import handle_event
from hybridal.app.web.auth import CurrentProject
from hybridal.app.web.schemas import Schema
from hybridal.errors import UserError

TOKEN_VARIABLE = "HYBRIDAL_ML_TOKEN"

Sent = Annotated[dict[str, Any], Body()]


def token_of(header: str) -> str:
    """The token of an Authorization header: `Token …`, `Bearer …`, or the password of Basic.

    >>> token_of("Token abc"), token_of("Basic bWU6YWJj"), token_of("Basic ???"), token_of("")
    ('abc', 'abc', '', '')
    """
    kind, _, value = header.partition(" ")
    if kind.lower() in ("token", "bearer"):
        return value.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


async def check_token(request: Request) -> None:
    """Lets in who has the token; on this machine alone none is needed unless one is set."""
    wanted = os.environ.get(TOKEN_VARIABLE, "")
    if not wanted:
        if "origin" in request.headers:
            raise ForbiddenError("This endpoint is for Label Studio's server, not for browsers.")
        if request.app.state.local:
            return
        raise ForbiddenError(f"Set {TOKEN_VARIABLE} where the app is started, and give Label Studio the same token.")
    if not compare_digest(token_of(request.headers.get("authorization", "")).encode(), wanted.encode()):
        raise SignInError("The token is wrong.")


router = APIRouter(prefix="/ml", dependencies=[Depends(check_token)])


class Health(Schema):
    """It is there."""

    status: str = "UP"
    model_class: str = "hybridal"


class Version(Schema):
    """Which model would answer."""

    model_version: str


class Predictions(Schema):
    """One entry for each task that was sent."""

    results: list[dict[str, Any]]
    model_version: str


class EventResult(Schema):
    """What came of an event."""

    status: str
    annotations: int


@router.get("/health")
def health() -> Health:
    """Whether anybody is there."""
    return Health()


@router.post("/setup")
def setup(sent: Sent, project: CurrentProject) -> Version:
    """Label Studio introduces a project."""
    if sent.get("schema") and read_config(sent["schema"]) is None:
        raise UserError("The labelling configuration has no Choices about a Text.")
    with project.reads() as session:
        return Version(model_version=model_version(session))


@router.post("/predict")
def predictions(sent: Sent, project: CurrentProject) -> Predictions:
    """What the newest model thinks of these tasks."""
    tasks = sent.get("tasks")
    if not isinstance(tasks, list):
        raise UserError("The request has no tasks.")
    with project.reads() as session:
        found = predict_tasks(session, tasks, read_config(sent.get("label_config")) or LabelConfig())
        return Predictions(results=found, model_version=model_version(session))


@router.post("/webhook", status_code=201)
def webhook(sent: Sent, project: CurrentProject) -> EventResult:
    """Something happened to annotations over there; the trainer notices new labels by itself."""
    changed = handle_event(project.sessions, sent)
    return EventResult(status="ok" if changed else "nothing to do", annotations=changed)
