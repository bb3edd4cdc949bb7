"""Webhooks: servers that are told what happens in the project."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from pydantic import Field
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from hybridal.app.db.schema import Webhook
from hybridal.app.outgoing import LONGEST_URL
from hybridal.app.web.auth import CurrentProject, Owner, OwnerAtBrowser
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Done, Items, Number, Schema
from hybridal.app.webhooks.delivery import (
    DeliveryWorker,
    add_webhook,
    last_deliveries,
    remove_webhook,
    try_webhook,
)
from hybridal.app.webhooks.events import EVENTS, EventName


@asynccontextmanager
async def at_work(app: FastAPI) -> AsyncIterator[None]:
    """What was on its way when the last process ended is sent by this one."""
    worker = DeliveryWorker(app.state.project)
    worker.start()
    yield
    await run_in_threadpool(worker.stop)


router = Router(prefix="/api/webhooks", lifespan=at_work)


class DeliverySchema(Schema):
    """A message. `due` is when it is sent next; null: it was taken or, with a `problem`, given up."""

    number: int
    event: str
    made: float
    attempts: int
    sent: float | None
    due: float | None
    status: int | None
    problem: str
    body: str


class WebhookSchema(Schema):
    """A webhook, without its secret, and what was sent to it lately, newest first."""

    number: int
    url: str
    events: list[str]
    made: float
    deliveries: list[DeliverySchema]


class NewWebhook(Schema):
    """Where to, and what of."""

    url: str = Field(max_length=LONGEST_URL, examples=["https://example.org/hook"])
    events: list[EventName] = Field(max_length=len(EVENTS), examples=[["labels.saved"]])


class WebhookSecret(Schema):
    """What its messages are signed with; it is told only once."""

    number: int
    secret: str


@router.get("")
def list_webhooks(_: Owner, project: CurrentProject) -> Items[WebhookSchema]:
    """All webhooks, newest first."""
    with project.reads() as session:
        return Items(
            items=[
                WebhookSchema(
                    number=one.number,
                    url=one.url,
                    events=one.events,
                    made=one.made,
                    deliveries=[DeliverySchema.model_validate(sent) for sent in last_deliveries(session, one.number)],
                )
                for one in session.scalars(select(Webhook).order_by(Webhook.number.desc()))
            ]
        )


@router.post("")
def create_webhook(new: NewWebhook, _: OwnerAtBrowser, project: CurrentProject) -> WebhookSecret:
    """A new webhook; it is told what comes from now on."""
    with project.sessions.begin() as session:
        made = add_webhook(session, project, new.url, new.events)
        return WebhookSecret(number=made.number, secret=made.secret)


@router.post("/{number}/test")
def ping_webhook(number: Number, _: Owner, project: CurrentProject) -> DeliverySchema:
    """Sends a `ping` at once, and says what came of it."""
    return DeliverySchema.model_validate(try_webhook(project, number))


@router.post("/{number}/remove")
def delete_webhook(number: Number, _: Owner, project: CurrentProject) -> Done:
    """It is told nothing any more."""
    with project.sessions.begin() as session:
        remove_webhook(session, number)
    return Done()
