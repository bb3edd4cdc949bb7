"""What a Label Studio instance calls when this project is its ML backend. Training is not done in a request."""

from __future__ import annotations

import os
from base64 import b64decode
from hmac import compare_digest
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request

from hybridal.app.errors import ForbiddenError, SignInError
from hybridal.app.exchange.label_studio import Config, read_config
from hybridal.app.exchange.label_studio_events import heed
from hybridal.app.exchange.label_studio_predict import model_version, predict
from hybridal.app.web.access import Opened
from hybridal.app.web.shapes import Shape
from hybridal.errors import UserError

TOKEN_VARIABLE = "HYBRIDAL_ML_TOKEN"

Sent = Annotated[dict[str, Any], Body()]


def sent_token(header: str) -> str:
    """The token of an Authorization header: `Token …`, `Bearer …`, or the password of Basic.

    >>> sent_token("Token abc"), sent_token("Basic bWU6YWJj"), sent_token("Basic ???"), sent_token("")
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


async def known_caller(request: Request) -> None:
    """Lets in who has the token; on this machine alone none is needed unless one is set."""
    wanted = os.environ.get(TOKEN_VARIABLE, "")
    if not wanted:
        if "origin" in request.headers:
            raise ForbiddenError("A page in a browser may not do this: Label Studio's server does.")
        if request.app.state.local:
            return
        raise ForbiddenError(f"Set {TOKEN_VARIABLE} where the app is started, and give Label Studio the same token.")
    if not compare_digest(sent_token(request.headers.get("authorization", "")).encode(), wanted.encode()):
        raise SignInError("The token is wrong.")


router = APIRouter(prefix="/ml", dependencies=[Depends(known_caller)])


class Health(Shape):
    """It is there."""

    status: str = "UP"
    model_class: str = "hybridal"


class Version(Shape):
    """Which model would answer."""

    model_version: str


class Predictions(Shape):
    """One entry for each task that was sent."""

    results: list[dict[str, Any]]
    model_version: str


class Heard(Shape):
    """What came of an event."""

    status: str
    answers: int


@router.get("/health")
def health() -> Health:
    """Whether anybody is there."""
    return Health()


@router.post("/setup")
def setup(sent: Sent, project: Opened) -> Version:
    """Label Studio introduces a project."""
    if sent.get("schema") and read_config(sent["schema"]) is None:
        raise UserError("The labelling configuration has no Choices about a Text.")
    with project.reads() as session:
        return Version(model_version=model_version(session))


@router.post("/predict")
def predictions(sent: Sent, project: Opened) -> Predictions:
    """What the newest model thinks of these tasks."""
    tasks = sent.get("tasks")
    if not isinstance(tasks, list):
        raise UserError("There are no tasks to predict.")
    with project.reads() as session:
        found = predict(session, tasks, read_config(sent.get("label_config")) or Config())
        return Predictions(results=found, model_version=model_version(session))


@router.post("/webhook", status_code=201)
def webhook(sent: Sent, project: Opened) -> Heard:
    """Something happened to annotations over there; the trainer notices new labels by itself."""
    changed = heed(project.sessions, sent)
    return Heard(status="ok" if changed else "nothing to do", answers=changed)
