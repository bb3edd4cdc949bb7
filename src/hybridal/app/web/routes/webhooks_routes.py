"""Routes for webhooks, which send events of the project to other servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from pydantic import Field
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from hybridal.app.consent import allow_sending, may_send
from hybridal.app.db.schema import Webhook
from hybridal.app.web.auth import BrowserOwner, CurrentProject, Owner
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Done, Items, Number, Schema
from hybridal.app.webhooks.address import check_address
from hybridal.app.webhooks.delivery import (
    DeliveryWorker,
    add_webhook,
    find_webhook,
    last_deliveries,
    remove_webhook,
    try_webhook,
)
from hybridal.app.webhooks.events import EVENTS, EventName
from hybridal.system.outgoing import LONGEST_URL


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Deliver messages in the background, including those left by the last process."""
    worker = DeliveryWorker(app.state.project)
    worker.start()
    yield
    await run_in_threadpool(worker.stop)


router = Router(prefix="/api/webhooks", lifespan=lifespan)


class DeliverySchema(Schema):
    """A message. `due` is the time of the next attempt; null: delivered or, with a `problem`, given up."""

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
    """A webhook without its secret, and its latest deliveries, newest first.

    `allowed` is false if the project comes from another machine and nothing is sent until the owner allows it here.
    """

    number: int
    url: str
    events: list[str]
    made: float
    allowed: bool
    deliveries: list[DeliverySchema]


class NewWebhook(Schema):
    """The address of a webhook and its events."""

    url: str = Field(max_length=LONGEST_URL, examples=["https://example.org/hook"])
    events: list[EventName] = Field(max_length=len(EVENTS), examples=[["labels.saved"]])


class WebhookSecret(Schema):
    """The secret that signs its messages; shown only once."""

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
                    allowed=may_send(project, one.url),
                    deliveries=[DeliverySchema.model_validate(sent) for sent in last_deliveries(session, one.number)],
                )
                for one in session.scalars(select(Webhook).order_by(Webhook.number.desc()))
            ]
        )


@router.post("")
def create_webhook(new: NewWebhook, _: BrowserOwner, project: CurrentProject) -> WebhookSecret:
    """Add a webhook; it receives events from now on."""
    check_address(new.url)
    with project.sessions.begin() as session:
        made = add_webhook(session, project, new.url, new.events)
        return WebhookSecret(number=made.number, secret=made.secret)


@router.post("/{number}/test")
def ping_webhook(number: Number, _: Owner, project: CurrentProject) -> DeliverySchema:
    """Send a `ping` immediately and return the outcome."""
    return DeliverySchema.model_validate(try_webhook(project, number))


@router.post("/{number}/allow")
def allow_webhook(number: Number, _: BrowserOwner, project: CurrentProject) -> Done:
    """Let a project from another machine send to this webhook from here on."""
    with project.reads() as session:
        allow_sending(project, find_webhook(session, number).url)
    return Done()


@router.post("/{number}/remove")
def delete_webhook(number: Number, _: Owner, project: CurrentProject) -> Done:
    """Remove a webhook."""
    with project.sessions.begin() as session:
        remove_webhook(session, number)
    return Done()
