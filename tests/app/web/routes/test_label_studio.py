from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from hybridal.app.exchange.files import label_rows
from hybridal.app.project import Project
from hybridal.app.web.app import create_app
from hybridal.app.web.auth import LoginLink

from ...exchange.projects import empty, made

JSON = {"Content-Type": "application/json"}
CONFIG = '<View><Text name="t" value="$body"/><Choices name="topic" toName="t"/></View>'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("HYBRIDAL_ML_TOKEN", raising=False)
    return made(tmp_path)


def label_studio(project: Project, local: bool = True) -> TestClient:
    """Calls as Label Studio does: without a cookie."""
    return TestClient(create_app(project, LoginLink() if local else None), base_url="http://localhost")


def event(name: str) -> dict[str, Any]:
    region = {"from_name": "topic", "value": {"choices": [name]}}
    return {
        "action": "ANNOTATION_CREATED",
        "annotation": {"id": 1, "result": [region], "completed_by": 3, "updated_at": "2024", "task": 5},
        "task": {"id": 5, "data": {"body": "Nobody answered 2."}},
        "project": {"id": 1, "label_config": CONFIG},
    }


def test_it_introduces_itself(project: Project) -> None:
    client = label_studio(project)
    assert client.get("/ml/health").json()["status"] == "UP"
    setup = {"project": "1.1700000000", "schema": CONFIG, "hostname": "http://ls", "access_token": "x"}
    assert client.post("/ml/setup", json=setup).json() == {"model_version": "round 3"}
    assert client.post("/ml/setup", json={**setup, "schema": "<View/>"}).status_code == 400


def test_before_the_first_model_there_is_no_version(tmp_path: Path) -> None:
    client = label_studio(empty(tmp_path))
    assert client.post("/ml/setup", json={}).json() == {"model_version": ""}


def test_predictions_come_for_each_task_in_its_words(project: Project) -> None:
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


def test_a_page_elsewhere_cannot_send_events_through_somebodys_browser(project: Project) -> None:
    client = label_studio(project)
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        headers = {"Content-Type": kind} if kind else {}
        answer = client.post("/ml/webhook", content=b'{"action": "START_TRAINING"}', headers=headers)
        assert answer.status_code == 422
    # Older versions of FastAPI take JSON of no type at all; but browsers say where a page comes from, servers do not.
    answer = client.post("/ml/webhook", json=event("bug"), headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


def test_other_machines_need_a_token_that_somebody_set(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    client = label_studio(project, local=False)
    assert client.get("/ml/health").status_code == 403
    monkeypatch.setenv("HYBRIDAL_ML_TOKEN", "sesame")
    assert client.get("/ml/health").status_code == 401
    assert client.post("/ml/webhook", json=event("bug")).status_code == 401
    basic = b64encode(b"anybody:sesame").decode()
    for header in ("Token sesame", "Bearer sesame", f"Basic {basic}"):
        assert client.get("/ml/health", headers={"Authorization": header}).status_code == 200
    for header in ("Token wrong", "sesame", "Token", "Basic sesame", f"Basic {b64encode(b'sesame:x').decode()}"):
        assert client.get("/ml/health", headers={"Authorization": header}).status_code == 401


def test_a_token_that_is_set_is_needed_on_this_machine_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDAL_ML_TOKEN", "sesame")
    assert label_studio(project).post("/ml/predict", json={"tasks": []}).status_code == 401
