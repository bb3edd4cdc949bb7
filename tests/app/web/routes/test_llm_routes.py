import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from hybridal.app.llm.annotator import LlmSettings, save_settings
from hybridal.app.project import Project
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.web_app import create_app

from ....helpers.chat_server import Sends, chat_server, in_turn, labels
from ...copies import copied
from ...made_up import consensus, make
from .signed_in import browser, promote


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return copied(untouched, tmp_path / "p")


def untouched(folder: Path) -> Project:
    return make(folder, 8, ("bug", "idea"), validation_first=0, validation_share=0.0)


def until(true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if true():
            return
        time.sleep(0.005)
    raise AssertionError("It did not happen within ten seconds.")


def plan(client: TestClient, **changes: Any) -> Any:
    return client.put(
        "/api/llm", json={"model": "small", "per_minute": 100_000, "routing": {"overlap": 0.0}, **changes}
    )


def phase(client: TestClient) -> str:
    return str(client.get("/api/llm").json()["state"]["phase"])


def test_llm_job_is_planned_started_watched_and_stopped(project: Project) -> None:
    with chat_server(in_turn(labels("bug"))) as server, browser(project, local=True) as client:
        assert phase(client) == "stopped"
        planned = plan(client, base_url=server.url).json()
        assert (planned["base_url"], planned["model"]) == (server.url, "small")
        assert planned["routing"] == {"threshold": 0.9, "contradiction": 0.8, "overlap": 0.0}
        assert client.post("/api/llm/start").json()["phase"] in ("working", "waiting")
        until(lambda: phase(client) == "waiting")
        found = client.get("/api/llm").json()
        assert (found["asked"], found["labels"], found["spent_tokens"]) == (8, 8, 320)
        assert client.post("/api/llm/stop").json() == {"phase": "stopped", "error": ""}
    assert set(consensus(project).values()) == {("bug", "llm")}


def test_the_key_is_neither_stored_nor_shown(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HYBRIDAL_LLM_KEY", "sk-secret")
    with chat_server(in_turn(Sends(b"bad key sk-secret", 401))) as server, browser(project, local=True) as client:
        monkeypatch.setenv("HYBRIDAL_LLM_URL", server.url)
        assert plan(client, base_url=server.url).json()["has_key"] is True
        client.post("/api/llm/start")
        until(lambda: phase(client) == "failed")
        told = client.get("/api/llm").text
        client.post("/api/llm/stop")
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in told
    assert not any(b"sk-secret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    monkeypatch.delenv("HYBRIDAL_LLM_KEY")
    with browser(project, local=True) as client:
        assert client.get("/api/llm").json()["has_key"] is False


def test_llm_job_resumes_when_the_app_restarts(project: Project) -> None:
    with chat_server(in_turn(Sends(never=True))) as server:
        with browser(project, local=True) as client:
            plan(client, base_url=server.url)
            client.post("/api/llm/start")
            until(lambda: len(server.asked) == 4)
        server.reply = in_turn(labels("idea"))
        with TestClient(create_app(project, LoginLink()), base_url="http://localhost"):
            until(lambda: len(consensus(project)) == 8)


def test_a_saved_plan_does_not_start_what_has_failed(project: Project) -> None:
    with chat_server(in_turn(Sends(b"no", status=401))) as server, browser(project, local=True) as client:
        plan(client, base_url=server.url)
        client.post("/api/llm/start")
        until(lambda: phase(client) == "failed")
        asked = len(server.asked)
        assert plan(client, per_minute=1000).json()["state"]["phase"] == "failed"
        assert len(server.asked) == asked


def test_a_new_plan_is_followed_once_the_last_questions_have_ended(project: Project) -> None:
    with (
        chat_server(in_turn(Sends(never=True))) as silent,
        chat_server(in_turn(labels("bug"))) as server,
        browser(project, local=True) as client,
    ):
        plan(client, base_url=silent.url, timeout=1)
        client.post("/api/llm/start")
        until(lambda: len(silent.asked) == 4)
        plan(client, base_url=server.url)
        until(lambda: len(consensus(project)) == 8)
        client.post("/api/llm/stop")


def test_requests_are_answered_while_the_llm_is_not(project: Project) -> None:
    with chat_server(in_turn(Sends(never=True))) as server, browser(project, local=True) as client:
        plan(client, base_url=server.url)
        client.post("/api/llm/start")
        until(lambda: len(server.asked) == 4)
        sent = {"key": "k", "text": "t0", "action": "label", "class": "bug", "flagged": False, "comment": ""}
        assert client.post("/api/annotations", json=sent).status_code == 200
        client.post("/api/llm/stop")


def test_a_plan_that_makes_no_sense_is_refused(project: Project) -> None:
    with browser(project) as client:
        for wrong, status in [
            ({"base_url": "nowhere"}, 400),
            ({"routing": {"threshold": 2}}, 422),
            ({"budget_tokens": -1}, 422),
            ({"key": "sk-secret"}, 422),
            ({"running": True}, 422),
        ]:
            answer = client.put("/api/llm", json=wrong)
            assert (answer.status_code, "error" in answer.json()) == (status, True)
        assert client.post("/api/llm/start").status_code == 400


def test_trial_names_missing_requirements(project: Project) -> None:
    with browser(project) as client:
        plan(client)
        found = client.get("/api/llm/evaluation").json()
        assert (found["passes"], found["epsilon"], found["kappas"]) == (None, 0.2, [])
        assert "needs two people" in found["note"]
        assert client.get("/api/llm/evaluation", params={"epsilon": 0.1}).json()["epsilon"] == 0.1
        assert client.get("/api/llm/evaluation", params={"epsilon": "nan"}).status_code == 422


def test_llm_without_classes_is_refused(tmp_path: Path) -> None:
    with browser(make(tmp_path / "p", 8, ()), local=True) as client:
        assert client.get("/api/llm/evaluation").json()["passes"] is None
        plan(client, base_url="http://localhost/v1")
        refused = client.post("/api/llm/start")
        assert (refused.status_code, "two classes" in refused.json()["error"]) == (400, True)


@pytest.mark.parametrize("role", ["annotator", "reviewer"])
def test_llm_routes_are_for_owners_only(project: Project, role: str) -> None:
    promote(project, "Dee", role)
    with browser(project, "Dee") as client:
        assert {client.get(path).status_code for path in ("/api/llm", "/api/llm/evaluation")} == {403}
        assert {client.post(f"/api/llm/{act}").status_code for act in ("start", "stop")} == {403}
        assert client.put("/api/llm", json={}).status_code == 403


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1", "http://10.0.0.1/v1", "http://169.254.169.254/v1", "http://[::1]/v1"]
)
def test_an_internal_address_is_not_saved(project: Project, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    with browser(project) as client:
        refused = plan(client, base_url=url)
        assert (refused.status_code, "the person who runs the app can allow it" in refused.json()["error"]) == (
            400,
            True,
        )
        assert client.get("/api/llm").json()["base_url"] != url
    with browser(project, local=True) as client:  # on their own machine, owners decide
        assert plan(client, base_url=url).json()["base_url"] == url


def test_an_owner_who_does_not_run_the_app_cannot_have_its_network_called(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    with chat_server(in_turn(labels("bug"))) as server, browser(project) as client:
        with project.sessions.begin() as session:  # stored on another machine
            save_settings(session, LlmSettings(base_url=server.url, model="small", per_minute=100_000))
        answers = [
            plan(client, base_url=server.url),
            *(client.post(f"/api/llm/{action}") for action in ("start", "trial")),
        ]
        assert {answer.status_code for answer in answers} == {400}
        (sentence,) = {answer.json()["error"] for answer in answers}
        assert "in the app's own network; the person who runs the app can allow it in HYBRIDAL_LLM_URL" in sentence
        assert (server.asked, phase(client)) == ([], "stopped")
        monkeypatch.setenv("HYBRIDAL_LLM_URL", server.url)
        client.post("/api/llm/start")
        until(lambda: phase(client) == "waiting")
        client.post("/api/llm/stop")


def test_a_key_without_an_address_from_the_operator_is_not_sent(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    monkeypatch.setenv("HYBRIDAL_LLM_KEY", "sk-secret")
    with chat_server(in_turn(labels("bug"))) as server, browser(project) as client:
        refused = plan(client, base_url=server.url)
        assert (refused.status_code, "set HYBRIDAL_LLM_URL" in refused.json()["error"]) == (400, True)
        assert server.asked == []
