"""Deliver messages: they are stored first, then sent with retries until they are accepted or too old."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.consent import allow_sending, may_send
from hybridal.app.db.schema import Delivery, Webhook, now
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.webhooks.address import check_url
from hybridal.app.webhooks.events import current_position, has_new_events, take_new_events
from hybridal.app.webhooks.post import draw_secret, headers, post
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable

MAX_WEBHOOKS = 10
KEPT_DELIVERIES = 20  # per webhook
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3600.0  # seconds between attempts
MAX_AGE = 86_400.0  # seconds after which a message is given up
STOP_SECONDS = 2.0  # to wait for a message that is being sent when the server stops
POLL_SECONDS = 1.0
log = logging.getLogger(__name__)


def add_webhook(session: Session, project: Project, url: str, events: Sequence[str]) -> Webhook:
    """Add a webhook; it receives events from now on."""
    if (session.scalar(select(func.count()).select_from(Webhook)) or 0) >= MAX_WEBHOOKS:
        raise ConflictError(
            Sentence("There are {most} webhooks already; remove one that is not used any more.", most=MAX_WEBHOOKS)
        )
    if not events:
        raise UserError(translatable("Choose at least one event for the webhook."))
    url = check_url(url)
    allow_sending(project, url)
    made = Webhook(url=url, secret=draw_secret(), events=sorted({*events}), **current_position(session, project))
    session.add(made)
    session.flush()
    return made


def remove_webhook(session: Session, number: int) -> None:
    """Remove a webhook and its undelivered messages."""
    hook = find_webhook(session, number)
    session.execute(delete(Delivery).where(Delivery.webhook_number == number))
    session.delete(hook)


def find_webhook(session: Session, number: int) -> Webhook:
    """Read a webhook by its number."""
    found = session.get(Webhook, number)
    if found is None:
        raise MissingError(f"There is no webhook number {number}.")
    return found


def last_deliveries(session: Session, number: int) -> Sequence[Delivery]:
    """Read the last deliveries of a webhook, newest first."""
    found = select(Delivery).where(Delivery.webhook_number == number)
    return session.scalars(found.order_by(Delivery.number.desc()).limit(KEPT_DELIVERIES)).all()


def try_webhook(project: Project, number: int) -> Delivery:
    """Send a test message at once, without retries."""
    with project.sessions.begin() as session:
        made = _write(session, find_webhook(session, number), "ping", {})
        made.due = None
    return _send(project, made.number, again=False)


def deliver(project: Project) -> bool:
    """Send what is due, at most one message per webhook; return whether there was any.

    Messages of a webhook are delivered in order: later ones wait until the earlier one is accepted or given up.
    """
    with project.reads() as session:
        hooks = [hook for hook in session.scalars(select(Webhook)) if may_send(project, hook.url)]
        waiting = {hook.number: _oldest(session, hook.number) for hook in hooks}
        with_news = [hook.number for hook in hooks if waiting[hook.number] is None and has_new_events(session, hook)]
    for number in with_news:
        with project.sessions.begin() as session:
            if hook := session.get(Webhook, number):
                for event, data in take_new_events(session, project, hook):
                    _write(session, hook, event, data)
                waiting[number] = _oldest(session, number)
    due = [one for one in waiting.values() if one is not None and (one.due or 0) <= now()]
    for one in due:
        _send(project, one.number)
    return bool(due)


def _oldest(session: Session, number: int) -> Delivery | None:
    found = select(Delivery).where(Delivery.webhook_number == number, Delivery.due.is_not(None))
    return session.scalar(found.order_by(Delivery.number).limit(1))


def _write(session: Session, hook: Webhook, event: str, data: dict[str, Any]) -> Delivery:
    decided = read(session)
    message = {
        "type": event,
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "project": {"id": decided["key"], "name": decided["name"]},
        "data": data,
    }
    made = Delivery(webhook_number=hook.number, event=event, body=json.dumps(message, ensure_ascii=False), due=now())
    session.add(made)
    session.flush()
    return made


def _send(project: Project, number: int, again: bool = True) -> Delivery:
    """Send a message outside of any transaction, then store the result."""
    with project.reads() as session:
        made, hook = session.execute(select(Delivery, Webhook).join(Webhook).where(Delivery.number == number)).one()
    body, status, problem = made.body.encode(), None, ""
    try:
        status = post(
            hook.url, headers(hook.secret, f"{project.key}-{number}-{int(1000 * made.made)}", int(now()), body), body
        )
        problem = problem_of(status)
    except UserError as error:
        problem = str(error)
    with project.sessions.begin() as session:
        sent = session.get(Delivery, number)
        if sent is None:  # removed meanwhile
            return made
        sent.attempts, sent.status, sent.problem, sent.sent = sent.attempts + 1, status, problem, now()
        sent.due = next_try(sent.attempts, sent.made, sent.sent) if problem and again else None
        kept = select(Delivery.number).where(Delivery.webhook_number == hook.number, Delivery.due.is_(None))
        old = session.scalars(kept.order_by(Delivery.number.desc()).offset(KEPT_DELIVERIES)).all()
        session.execute(delete(Delivery).where(Delivery.number.in_(old)))
    return sent


def problem_of(status: int) -> str:
    """Explain why an HTTP status does not mean acceptance; "" if it does.

    >>> problem_of(204), problem_of(500)
    ('', 'It answered with status 500.')
    """
    if 200 <= status < 300:
        return ""
    follow = " Redirections are not followed: use the address that it leads to." if 300 <= status < 400 else ""
    return f"It answered with status {status}.{follow}"


def next_try(attempts: int, made: float, sent: float) -> float | None:
    """Return when to send a message again, with exponential back-off; None to give up.

    >>> next_try(1, 0.0, 0.0), next_try(4, 0.0, 35.0), next_try(99, 0.0, MAX_AGE)
    (5.0, 75.0, None)
    """
    return None if sent - made >= MAX_AGE else sent + min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempts - 1))


class DeliveryWorker:
    """Delivers messages in a background thread; its state is in the database."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="webhooks", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; a message that is still being sent is repeated at the next start."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                busy = deliver(self.project)
            except Exception:  # the next attempt may succeed
                log.exception("A webhook could not be served.")
                busy = False
            self._stopping.wait(0 if busy else POLL_SECONDS)
