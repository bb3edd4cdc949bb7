from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from hybridal.app.exchange.table_files import label_rows
from hybridal.app.project import Project
from hybridal.app.web.proxy import Proxies, ProxyHeaders
from hybridal.app.web.web_app import create_app

from ...exchange.projects import empty, made
from ...made_up import make, me
from ..visits import local, signed_in, with_token

JSON = {"Content-Type": "application/json"}
CONFIG = '<View><Text name="t" value="$body"/><Choices name="topic" toName="t"/></View>'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return made(tmp_path)


def label_studio(project: Project) -> TestClient:
    """Calls as Label Studio does: without a cookie, with a token of the project."""
    return with_token(create_app(project), me(project), "reviewer").client


def event(name: str) -> dict[str, Any]:
    region = {"from_name": "topic", "value": {"choices": [name]}}
    return {
        "action": "ANNOTATION_CREATED",
        "annotation": {"id": 1, "result": [region], "completed_by": 3, "updated_at": "2024", "task": 5},
        "task": {"id": 5, "data": {"body": "Nobody answered 2."}},
        "project": {"id": 1, "label_config": CONFIG},
    }


def test_backend_reports_health_and_setup(project: Project) -> None:
    client = label_studio(project)
    assert client.get("/ml/health").json()["status"] == "UP"
    setup = {"project": "1.1700000000", "schema": CONFIG, "hostname": "http://ls", "access_token": "x"}
    assert client.post("/ml/setup", json=setup).json() == {"model_version": "round 3"}
    assert client.post("/ml/setup", json={**setup, "schema": "<View/>"}).status_code == 400


def test_before_the_first_model_there_is_no_version(tmp_path: Path) -> None:
    client = label_studio(empty(tmp_path))
    assert client.post("/ml/setup", json={}).json() == {"model_version": ""}


def test_predictions_are_found_by_the_text_of_a_task(project: Project) -> None:
    bodies = ["It crashes.", "never seen", "Nobody answered 1.", "It crashes."]
    tasks: list[Any] = [{"id": at, "data": {"body": body}} for at, body in enumerate(bodies)]
    sent = {"tasks": [*tasks, {"id": 9, "data": {}}, "broken"], "label_config": CONFIG, "project": "1.2", "params": {}}
    found = label_studio(project).post("/ml/predict", json=sent).json()
    assert found["model_version"] == "round 3"
    assert [one["score"] for one in found["results"]] == [0.75, 0.0, 0.5, 0.75, 0.0, 0.0]
    region = {"from_name": "topic", "to_name": "t", "type": "choices", "value": {"choices": ["bug"]}}
    assert found["results"][0]["result"] == [region]
    assert found["results"][1]["result"] == []


def test_without_tasks_there_is_nothing_to_predict(project: Project) -> None:
    client = label_studio(project)
    for sent in ({}, {"tasks": None}, {"tasks": "x"}):
        assert client.post("/ml/predict", json=sent).status_code == 400
    assert client.post("/ml/predict", json=[]).status_code == 422


def test_an_event_becomes_a_label(project: Project) -> None:
    client = label_studio(project)
    for _ in range(2):
        answer = client.post("/ml/webhook", json=event("bug"))
        assert (answer.status_code, answer.json()) == (201, {"status": "ok", "annotations": 1})
    assert {line["id"]: line["label"] for line in label_rows(project.reads)}["rest 2"] == "bug"
    halves = client.post("/ml/predict", content=b'{"tasks": [{"data": {"text": "\\ud800"}}]}', headers=JSON)
    assert halves.status_code == 200
    assert client.post("/ml/webhook", json={"action": "PROJECT_UPDATED"}).json()["status"] == "nothing to do"


def test_events_from_another_origin_are_refused(project: Project) -> None:
    browser = signed_in(local(project), me(project))
    assert browser.get("/ml/health").status_code == 401
    assert browser.post("/ml/webhook", json=event("bug")).status_code == 401


def test_label_studio_needs_a_reviewers_token(project: Project) -> None:
    app = local(project)  # on its owner's machine, too
    visit = with_token(app, me(project), "reviewer")
    secret = visit.client.headers.pop("Authorization").removeprefix("Bearer ")
    basic = b64encode(f"anybody:{secret}".encode()).decode()
    for header in (f"Token {secret}", f"Bearer {secret}", f"Basic {basic}"):
        assert visit.client.get("/ml/health", headers={"Authorization": header}).status_code == 200
    swapped = b64encode(f"{secret}:x".encode()).decode()
    for header in ("Token wrong", secret, "Token", "Basic sesame", f"Basic {swapped}"):
        assert visit.client.get("/ml/health", headers={"Authorization": header}).status_code == 401
    assert "page Programs" in visit.post("/ml/webhook", json=event("bug")).json()["error"]
    refused = with_token(app, me(project), "annotator").get("/ml/health")
    assert (refused.status_code, "a reviewer's" in refused.text) == (403, True)


def test_a_token_opens_only_its_own_project(project: Project, tmp_path: Path) -> None:
    client = label_studio(project)
    assert client.get("/ml/health").status_code == 200
    other = TestClient(create_app(empty(tmp_path / "other")), headers=dict(client.headers))
    assert other.get("/ml/health").status_code == 401


def test_behind_a_proxy_the_token_is_needed_too_and_the_proxys_person_is_no_substitute(project: Project) -> None:
    app = create_app(project)
    secret = with_token(app, me(project), "reviewer").client.headers["Authorization"]
    proxied = ProxyHeaders(app, Proxies("127.0.0.1"), sign_in_header="X-Remote-User")
    client = TestClient(proxied, client=("127.0.0.1", 4711), headers={"X-Forwarded-For": "192.0.2.7"})
    named = {"X-Remote-User": "me"}
    assert client.get("/api/project", headers=named).status_code == 200
    assert client.get("/ml/health", headers=named).status_code == 401
    assert client.post("/ml/webhook", json=event("bug"), headers=named).status_code == 401
    assert client.post("/ml/webhook", json=event("bug"), headers={"Authorization": secret}).status_code == 201


def test_an_event_with_several_choices_is_a_set(tmp_path: Path) -> None:
    project = make(tmp_path / "sets", multi_label=True, validation_first=0)
    sent = event("a")
    sent["annotation"]["result"][0]["value"]["choices"] = ["new", "a"]
    sent["task"]["data"]["body"] = "text 3"
    client = label_studio(project)
    for _ in range(2):
        assert client.post("/ml/webhook", json=sent).status_code == 201
    sent["annotation"] |= {"result": [], "updated_at": "2025"}
    assert {line["id"]: line["label"] for line in label_rows(project.reads)} == {"t3": ["a", "new"]}
    client.post("/ml/webhook", json=sent)
    assert {line["id"]: line["label"] for line in label_rows(project.reads)} == {"t3": []}
    project.close()
