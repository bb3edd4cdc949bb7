"""A real Label Studio takes our tasks, asks our ML backend, annotates, and its webhook makes our model learn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybridal.testing.small import toy_file

from ..app.browser.command import started
from .programs import LIMIT, free_port, program, running, until

pytestmark = pytest.mark.real

TOKEN = "0123456789abcdef0123456789abcdef01234567"
CONFIG = """<View><Text name="text" value="$text"/><Choices name="label" toName="text">
<Choice value="sport"/><Choice value="food"/></Choices></View>"""
SPORT = {"ball", "goal", "team", "match", "score", "player", "league", "coach", "race", "win"}


@contextmanager
def label_studio(folder: Path) -> Iterator[httpx.Client]:
    """Started as documented, so that it may call this machine, and with a token for programs."""
    port = free_port()
    settings = {
        "ML_BLOCK_LOCAL_IP": "False",
        "SSRF_PROTECTION_ENABLED": "False",
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "True",
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "COLLECT_ANALYTICS": "False",
        "LATEST_VERSION_CHECK": "False",
    }
    command = [program("label-studio", "label-studio"), "start", "--no-browser", "--port", str(port)]
    command += ["--internal-host", "127.0.0.1", "--data-dir", str(folder)]
    command += ["--username", "ada@example.org", "--password", "correct-horse", "--user-token", TOKEN]
    with (
        running(command, folder / "label-studio.log", settings),
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Token {TOKEN}"}, timeout=LIMIT
        ) as client,
    ):
        until(lambda: _is_up(client), "Label Studio")
        yield client


def _is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/api/version").status_code == 200
    except httpx.TransportError:
        return False


def sent(answer: httpx.Response) -> Any:
    assert answer.is_success, f"{answer.request.url}: {answer.status_code} {answer.text[:500]}"
    return answer.json() if answer.content else None


def choice(text: str) -> list[dict[str, Any]]:
    label = "sport" if {*text.split()} & SPORT else "food"
    return [{"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]


def test_label_studio_labels_and_hybridal_learns(tmp_path: Path) -> None:
    options = ["--text", "body", "--classes", "sport,food", "--backbone", "tiny", "--batch", "6"]
    folder = tmp_path / "label-studio"
    folder.mkdir()
    with started(toy_file(tmp_path), *options) as link, label_studio(folder) as studio:
        address = link.partition("/?")[0]
        with httpx.Client(base_url=address, timeout=LIMIT) as ours:
            ours.get(link)
            tasks = sent(ours.get("/api/export/label-studio.json", params={"anonymous": True}))
            csrf_header = {"X-CSRF-Token": sent(ours.get("/api/project"))["csrf_token"]}
            named = {"name": "Label Studio", "role": "reviewer"}
            token = sent(ours.post("/api/tokens", json=named, headers=csrf_header))["token"]

            # It imports our tasks, and is connected with our ML backend and our webhook.
            project = sent(studio.post("/api/projects", json={"title": "toys", "label_config": CONFIG}))["id"]
            assert sent(studio.post(f"/api/projects/{project}/import", json=tasks))["task_count"] == len(tasks)
            connection = {"url": f"{address}/ml", "project": project, "title": "hybridal"}
            secret = {"auth_method": "BASIC_AUTH", "basic_auth_user": "any", "basic_auth_pass": token}
            backend = sent(studio.post("/api/ml", json={**connection, **secret}))
            hook = {"url": f"{address}/ml/webhook", "project": project, "send_payload": True}
            hook["headers"] = {"Authorization": f"Token {token}"}
            sent(studio.post("/api/webhooks/", json={**hook, "send_for_all_actions": True}))

            # A person annotates there, and the webhook makes the model here learn.
            theirs = sent(studio.get("/api/tasks", params={"project": project, "page_size": 100}))["tasks"]
            annotations = {}
            for task in theirs[:40]:
                body = {"result": choice(task["data"]["text"])}
                annotations[task["id"]] = sent(studio.post(f"/api/tasks/{task['id']}/annotations/", json=body))["id"]
            trainer = until(lambda: _learnt(ours, 1), "the first round")
            assert trainer["error"] == ""
            counts = sent(ours.get("/api/project"))["counts"]
            assert counts["labelled"] == 40
            people = {one["name"]: one["labels"] for one in sent(ours.get("/api/people"))["items"]}
            assert people["Label Studio 1"] == 40  # a webhook tells the number of the person alone

            # It asks for predictions, and gets those of that model.
            asked = {"id": "retrieve_tasks_predictions", "project": project}
            chosen = [task["id"] for task in theirs[:50]]
            items = {"selectedItems": {"all": False, "included": chosen}, "project": project}
            sent(studio.post("/api/dm/actions", params=asked, json=items))
            predictions = sent(studio.get("/api/predictions", params={"task": chosen[0]}))
            assert predictions[0]["model_version"].startswith("round ")
            assert predictions[0]["result"][0]["value"]["choices"][0] in ("sport", "food")
            assert 0 < predictions[0]["score"] <= 1
            assert sent(studio.get(f"/api/ml/{backend['id']}"))["state"] == "CO"

            # What is changed or deleted there is changed and withdrawn here.
            first, second = [*annotations.values()][:2]
            text = theirs[0]["data"]
            changed = choice("ball" if choice(text["text"])[0]["value"]["choices"] == ["food"] else "bread")
            sent(studio.patch(f"/api/annotations/{first}/", json={"result": changed}))
            sent(studio.delete(f"/api/annotations/{second}/"))
            until(lambda: sent(ours.get("/api/project"))["counts"]["labelled"] == 39, "the deletion")
            now = sent(ours.get(f"/api/texts/{text['hybridal_id']}"))
            assert now["class"] == changed[0]["value"]["choices"][0]


def _learnt(ours: httpx.Client, round: int) -> dict[str, Any] | None:
    found: dict[str, Any] = sent(ours.get("/api/trainer"))
    return found if found["round"] >= round and found["phase"] == "waiting" else None
