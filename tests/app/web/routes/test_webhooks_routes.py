from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.app.project import Project
from hybridal.app.webhooks.address import HOSTS_VARIABLE

from ...webhooks.receiver import receiving
from ..visits import Visit


def test_a_webhook_is_added_tested_listed_and_removed(owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOSTS_VARIABLE, "127.0.0.0/8")
    with receiving() as server:
        made = owner.post("/api/webhooks", {"url": server.url, "events": ["labels.saved", "labels.saved"]}).json()
        assert made["secret"].startswith("whsec_")
        tested = owner.post(f"/api/webhooks/{made['number']}/test").json()
        assert (tested["event"], tested["status"], tested["problem"]) == ("ping", 204, "")
        [listed] = owner.get("/api/webhooks").json()["items"]
        assert (listed["url"], listed["events"]) == (server.url, ["labels.saved"])
        assert [one["number"] for one in listed["deliveries"]] == [tested["number"]]
        assert made["secret"] not in str(listed)
        assert owner.post(f"/api/webhooks/{made['number']}/remove").json() == {"ok": True}
        assert owner.post(f"/api/webhooks/{made['number']}/test").status_code == 404
        assert owner.get("/api/webhooks").json()["items"] == []


def test_unusable_webhook_address_gets_one_sentence(owner: Visit) -> None:
    answer = owner.post("/api/webhooks", {"url": "javascript:alert(1)", "events": ["labels.saved"]})
    assert (answer.status_code, "write it like https://host/path" in answer.json()["error"]) == (400, True)
    assert owner.post("/api/webhooks", {"url": "https://example.org", "events": ["everything"]}).status_code == 422


def test_a_webhook_of_a_project_from_elsewhere_is_allowed_by_its_owner(
    owner: Visit, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridal.app.consent.user_state_path", lambda *_, **__: tmp_path / "state")
    made = owner.post("/api/webhooks", {"url": "https://example.org/hook", "events": ["labels.saved"]}).json()
    project.asks_before_sending = True
    allowed = [owner.get("/api/webhooks").json()["items"][0]["allowed"]]
    assert owner.post(f"/api/webhooks/{made['number']}/allow").json() == {"ok": True}
    allowed.append(owner.get("/api/webhooks").json()["items"][0]["allowed"])
    assert allowed == [False, True]


@pytest.mark.parametrize("url", ["http://169.254.169.254/x", "http://localhost/", "http://[::1]/", "http://127.1:22/"])
def test_an_internal_address_is_refused_before_it_is_stored(
    url: str, owner: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HOSTS_VARIABLE, raising=False)
    answer = owner.post("/api/webhooks", {"url": url, "events": ["labels.saved"]})
    assert (answer.status_code, HOSTS_VARIABLE in answer.json()["error"]) == (400, True)
    assert owner.get("/api/webhooks").json()["items"] == []


def test_a_name_that_does_not_resolve_yet_can_be_stored(owner: Visit) -> None:
    assert (
        owner.post("/api/webhooks", {"url": "https://hooks.invalid/x", "events": ["labels.saved"]}).status_code == 200
    )
