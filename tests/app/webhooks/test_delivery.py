from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select, text, update

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.consent import allow_sending
from hybridal.app.db.schema import Delivery, Webhook, now
from hybridal.app.labelling.annotations import annotate
from hybridal.app.project import Project
from hybridal.app.webhooks import delivery
from hybridal.app.webhooks.delivery import (
    KEPT_DELIVERIES,
    MAX_AGE,
    MAX_WEBHOOKS,
    DeliveryWorker,
    add_webhook,
    deliver,
    last_deliveries,
    remove_webhook,
    try_webhook,
)
from hybridal.errors import UserError

from ..made_up import make, me
from .receiver import Receiver

DOCUMENTED = Path(__file__).parents[3] / "docs" / "howto" / "programs.md"


def hook(project: Project, url: str, *events: str) -> Webhook:
    with project.sessions.begin() as session:
        return add_webhook(session, project, url, events or ["labels.saved"])


def label(project: Project, id: str) -> None:
    with project.sessions.begin() as session:
        annotate(session, me(project), id, "label", class_name="a", key=id)


def sent(project: Project, number: int = 1) -> list[Delivery]:
    with project.reads() as session:
        return [*last_deliveries(session, number)]


def make_due(project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(update(Delivery).where(Delivery.due.is_not(None)).values(due=0.0))


def documented() -> Callable[..., bool]:
    """The lines of the documentation that verify a signature."""
    code = re.search(r"```python\n(import hmac.*?)```", DOCUMENTED.read_text(), re.DOTALL)
    assert code
    names: dict[str, Callable[..., bool]] = {}
    exec(code.group(1), names)
    return names["is_genuine"]


def test_a_label_arrives_and_its_signature_is_verified_as_documented(project: Project, receiver: Receiver) -> None:
    made, is_genuine = hook(project, receiver.url), documented()
    label(project, "t3")
    assert deliver(project)
    assert not deliver(project)
    [(headers, body)] = receiver.got
    assert is_genuine(made.secret, headers, body)
    assert not is_genuine(made.secret, headers, body + b" ")
    assert not is_genuine("whsec_AAAA", headers, body)
    assert not is_genuine(made.secret, {**headers, "webhook-timestamp": str(int(time.time()) - 600)}, body)
    [message] = receiver.messages
    assert message["project"] == {"id": project.key, "name": "made up"}
    assert (message["type"], message["data"]["labels"][0]["text"]) == ("labels.saved", "t3")
    assert [(one.status, one.problem, one.due) for one in sent(project)] == [(204, "", None)]


def test_failed_event_is_sent_again_and_later_events_wait(project: Project, receiver: Receiver, tmp_path: Path) -> None:
    hook(project, receiver.url)
    receiver.status = 500
    label(project, "t0")
    deliver(project)
    label(project, "t1")
    assert not deliver(project)
    [waiting] = sent(project)
    assert (waiting.attempts, waiting.problem) == (1, "It answered with status 500.")
    assert waiting.due is not None
    assert 3 < waiting.due - now() <= 5
    project.close()
    again, receiver.status = Project.open(project.folder), 200  # all of it outlives the process
    make_due(again)
    assert deliver(again)
    assert deliver(again)
    assert not deliver(again)
    assert [one["data"]["labels"][0]["text"] for one in receiver.messages] == ["t0", "t0", "t1"]
    first, second, third = (headers["webhook-id"] for headers, _ in receiver.got)
    assert first == second != third
    assert receiver.got[0][1] == receiver.got[1][1]
    again.close()


def test_a_message_never_has_the_id_of_another_though_its_number_is_used_again(
    project: Project, receiver: Receiver
) -> None:
    numbers = []
    for id in ("t0", "t1"):
        made = hook(project, receiver.url)
        label(project, id)
        deliver(project)
        numbers += [one.number for one in sent(project, made.number)]
        with project.sessions.begin() as session:
            remove_webhook(session, made.number)
        time.sleep(0.002)
    assert numbers == [1, 1]
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 2


def test_after_a_day_a_message_is_given_up_and_the_next_one_goes(project: Project, receiver: Receiver) -> None:
    hook(project, receiver.url)
    receiver.status = 404
    label(project, "t0")
    deliver(project)
    make_due(project)
    with project.sessions.begin() as session:
        session.execute(update(Delivery).values(made=now() - MAX_AGE))
    deliver(project)
    [given_up] = sent(project)
    assert (given_up.due, given_up.attempts, given_up.status) == (None, 2, 404)
    receiver.status = 200
    label(project, "t1")
    deliver(project)
    assert receiver.messages[-1]["data"]["labels"][0]["text"] == "t1"


def test_a_server_that_is_away_does_not_hold_up_the_others(project: Project, receiver: Receiver) -> None:
    hook(project, "http://127.0.0.1:9/")
    hook(project, receiver.url)
    label(project, "t0")
    deliver(project)
    assert len(receiver.got) == 1
    assert sent(project, 1)[0].problem == "No answer (Connection refused)."


def test_test_event_is_sent_at_once_and_not_retried(project: Project, receiver: Receiver) -> None:
    made = hook(project, receiver.url)
    assert try_webhook(project, made.number).problem == ""
    receiver.status = 302
    tried = try_webhook(project, made.number)
    assert (tried.status, tried.due, tried.problem.partition(".")[0]) == (302, None, "It answered with status 302")
    assert not deliver(project)
    assert [one["type"] for one in receiver.messages] == ["ping", "ping"]


def test_internal_address_is_not_called_and_reported(
    project: Project, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HYBRIDAL_WEBHOOK_HOSTS")
    made = hook(project, receiver.url)
    assert try_webhook(project, made.number).problem.startswith("127.0.0.1 is in the app's own network;")
    assert receiver.got == []


def test_only_the_last_deliveries_are_kept(project: Project, receiver: Receiver) -> None:
    made = hook(project, receiver.url)
    for _ in range(KEPT_DELIVERIES + 3):
        try_webhook(project, made.number)
    with project.reads() as session:
        assert len(session.scalars(select(Delivery.number)).all()) == KEPT_DELIVERIES


def test_removed_webhook_gets_no_more_events(project: Project, receiver: Receiver) -> None:
    made = hook(project, receiver.url)

    def remove() -> None:
        with project.sessions.begin() as session:
            remove_webhook(session, made.number)

    receiver.wait = remove  # at the worst moment: while its answer is awaited
    label(project, "t0")
    assert deliver(project)
    assert not deliver(project)
    with project.sessions.begin() as session, pytest.raises(MissingError):
        remove_webhook(session, made.number)


def test_webhooks_are_limited_in_number_and_need_an_event(project: Project) -> None:
    with pytest.raises(UserError, match="Choose at least one"), project.sessions.begin() as session:
        add_webhook(session, project, "http://x.org", [])
    for _ in range(MAX_WEBHOOKS):
        hook(project, "http://x.org")
    with pytest.raises(ConflictError, match="10 webhooks already"):
        hook(project, "http://x.org")


@pytest.mark.postgres
def test_events_wait_for_open_transactions(tmp_path: Path, empty_postgres: str, receiver: Receiver) -> None:
    """Numbers are drawn in another order than they are committed in: an earlier label must not be passed over."""
    project = make(tmp_path / "p", db=empty_postgres)
    hook(project, receiver.url)
    with project.sessions.begin() as session:
        annotate(session, me(project), "t0", "label", class_name="a", key="first")
        with project.sessions.begin() as other:
            other.execute(text("SET LOCAL lock_timeout = '5s'"))
            other.execute(
                text(
                    "INSERT INTO annotations (key, text_row, person_number, action, class_number, drawn, flagged,"
                    " reason, comment, decides, codebook, at) SELECT 'second', row, 1, 'label', 1, 'queue', false, '',"
                    " '', false, 1, 0 FROM texts WHERE id = 't1'"
                )
            )
        assert not deliver(project)
    assert deliver(project)
    assert [one["text"] for one in receiver.messages[0]["data"]["labels"]] == ["t0", "t1"]
    project.close()


def test_the_worker_delivers_until_it_is_stopped(
    project: Project, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "POLL_SECONDS", 0.02)
    hook(project, receiver.url)
    worker = DeliveryWorker(project)
    worker.start()
    label(project, "t0")
    until = time.monotonic() + 10
    while not receiver.got and time.monotonic() < until:
        time.sleep(0.01)
    worker.stop()
    assert [one["type"] for one in receiver.messages] == ["labels.saved"]


def test_webhooks_of_a_project_from_elsewhere_get_nothing_until_they_are_allowed(
    project: Project, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridal.app.consent.user_state_path", lambda *_, **__: tmp_path / "state")
    hook(project, receiver.url)
    label(project, "t3")
    project.asks_before_sending = True  # it is opened on another machine
    assert (deliver(project), receiver.got) == (False, [])
    allow_sending(project, receiver.url)
    assert (deliver(project), len(receiver.got)) == (True, 1)


def test_a_webhook_that_is_added_here_is_allowed_here(
    project: Project, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridal.app.consent.user_state_path", lambda *_, **__: tmp_path / "state")
    project.asks_before_sending = True
    hook(project, receiver.url)
    label(project, "t3")
    assert (deliver(project), len(receiver.got)) == (True, 1)
