"""A real Label Studio takes our tasks, asks our ML backend, annotates, and its webhook makes our model learn."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
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
FOOD = {"bread", "soup", "salt", "butter", "cook", "oven", "taste", "sweet", "dish", "plate"}


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


def region(choices: Sequence[str]) -> list[dict[str, Any]]:
    return [{"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [*choices]}}]


def choice(text: str) -> list[dict[str, Any]]:
    return region(["sport" if {*text.split()} & SPORT else "food"])


def choices(text: str) -> list[str]:
    """The topics of a text that may have both of them, or neither."""
    words = {*text.split()}
    return [name for name, of_it in (("sport", SPORT), ("food", FOOD)) if words & of_it]


@contextmanager
def hybridal(link: str) -> Iterator[httpx.Client]:
    """Signed in as the owner, as the link does in a browser."""
    with httpx.Client(base_url=link.partition("/?")[0], timeout=LIMIT) as client:
        client.get(link)
        client.headers["X-CSRF-Token"] = sent(client.get("/api/project"))["csrf_token"]
        yield client


def connected(ours: httpx.Client, studio: httpx.Client, config: str) -> tuple[int, int]:
    """Import our tasks into a new project there, with our ML backend and webhook; return project and backend."""
    tasks = sent(ours.get("/api/export/label-studio.json", params={"anonymous": True}))
    token = sent(ours.post("/api/tokens", json={"name": "Label Studio", "role": "reviewer"}))["token"]
    project = sent(studio.post("/api/projects", json={"title": "toys", "label_config": config}))["id"]
    assert sent(studio.post(f"/api/projects/{project}/import", json=tasks))["task_count"] == len(tasks)
    address = str(ours.base_url).rstrip("/")
    connection = {"url": f"{address}/ml", "project": project, "title": "hybridal"}
    secret = {"auth_method": "BASIC_AUTH", "basic_auth_user": "any", "basic_auth_pass": token}
    backend = sent(studio.post("/api/ml", json={**connection, **secret}))["id"]
    hook = {"url": f"{address}/ml/webhook", "project": project, "send_payload": True}
    hook["headers"] = {"Authorization": f"Token {token}"}
    sent(studio.post("/api/webhooks/", json={**hook, "send_for_all_actions": True}))
    return project, backend


def tasks_of(studio: httpx.Client, project: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sent(studio.get("/api/tasks", params={"project": project, "page_size": 100}))["tasks"]
    return found


def annotate(studio: httpx.Client, task: dict[str, Any], result: list[dict[str, Any]]) -> int:
    """Annotate a task there; return the annotation's number."""
    return int(sent(studio.post(f"/api/tasks/{task['id']}/annotations/", json={"result": result}))["id"])


def predicted(studio: httpx.Client, project: int, tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Let Label Studio ask our ML backend for predictions, and return those of the first task."""
    asked: dict[str, str | int] = {"id": "retrieve_tasks_predictions", "project": project}
    items = {"selectedItems": {"all": False, "included": [task["id"] for task in tasks]}, "project": project}
    sent(studio.post("/api/dm/actions", params=asked, json=items))
    found: list[dict[str, Any]] = sent(studio.get("/api/predictions", params={"task": tasks[0]["id"]}))
    return found


def test_label_studio_labels_and_hybridal_learns(tmp_path: Path) -> None:
    options = ["--text", "body", "--classes", "sport,food", "--backbone", "tiny", "--batch", "6"]
    folder = tmp_path / "label-studio"
    folder.mkdir()
    with started(toy_file(tmp_path), *options) as link, label_studio(folder) as studio, hybridal(link) as ours:
        project, backend = connected(ours, studio, CONFIG)

        # A person annotates there, and the webhook makes the model here learn.
        theirs = tasks_of(studio, project)
        annotations = [annotate(studio, task, choice(task["data"]["text"])) for task in theirs[:40]]
        trainer = until(lambda: _learnt(ours, 1), "the first round")
        assert trainer["error"] == ""
        counts = sent(ours.get("/api/project"))["counts"]
        assert counts["labelled"] == 40
        people = {one["name"]: one["labels"] for one in sent(ours.get("/api/people"))["items"]}
        assert people["Label Studio 1"] == 40  # a webhook tells the number of the person alone

        # It asks for predictions, and gets those of that model.
        predictions = predicted(studio, project, theirs[:50])
        assert predictions[0]["model_version"].startswith("round ")
        assert predictions[0]["result"][0]["value"]["choices"][0] in ("sport", "food")
        assert 0 < predictions[0]["score"] <= 1
        assert sent(studio.get(f"/api/ml/{backend}"))["state"] == "CO"

        # What is changed or deleted there is changed and withdrawn here.
        first, second = annotations[:2]
        text = theirs[0]["data"]
        changed = choice("ball" if choice(text["text"])[0]["value"]["choices"] == ["food"] else "bread")
        sent(studio.patch(f"/api/annotations/{first}/", json={"result": changed}))
        sent(studio.delete(f"/api/annotations/{second}/"))
        until(lambda: sent(ours.get("/api/project"))["counts"]["labelled"] == 39, "the deletion")
        now = sent(ours.get(f"/api/texts/{text['hybridal_id']}"))
        assert now["class"] == changed[0]["value"]["choices"][0]


def test_label_studio_gives_several_choices_to_a_text(tmp_path: Path) -> None:
    with toy_file(tmp_path).open(newline="") as file:
        toys = [row["body"] for row in csv.DictReader(file)]
    both = tmp_path / "both.csv"
    with both.open("w", newline="") as file:
        csv.writer(file).writerows([["body"], *([f"{one} {next}"] for one, next in pairwise(toys))])
    options = ["--text", "body", "--classes", "sport,food", "--multi-label", "--backbone", "tiny", "--batch", "6"]
    folder = tmp_path / "label-studio"
    folder.mkdir()
    with started(both, *options) as link, label_studio(folder) as studio, hybridal(link) as ours:
        project, _ = connected(ours, studio, CONFIG.replace('toName="text">', 'toName="text" choice="multiple">'))

        # Sets of choices, one of them empty, arrive as sets of classes, and the model learns them.
        theirs = tasks_of(studio, project)
        wanted = {task["data"]["hybridal_id"]: choices(task["data"]["text"]) for task in theirs[:40]}
        wanted[theirs[1]["data"]["hybridal_id"]] = []
        assert {len(names) for names in wanted.values()} == {0, 1, 2}
        for task in theirs[:40]:
            names = wanted[task["data"]["hybridal_id"]]
            annotate(studio, task, region(names) if names else [])
        trainer = until(lambda: _learnt(ours, 1), "the first round")
        assert trainer["error"] == ""
        until(lambda: sent(ours.get("/api/project"))["counts"]["labelled"] == 40, "all labels")
        for id, names in wanted.items():
            assert sorted(sent(ours.get(f"/api/texts/{id}"))["classes"]) == sorted(names)

        # Its predictions are sets too.
        predictions = predicted(studio, project, theirs[:50])
        assert predictions[0]["model_version"].startswith("round ")
        assert {*predictions[0]["result"][0]["value"]["choices"]} <= {"sport", "food"}

        # Our export has the choices that were made there, and it imports them as several choices.
        exported = sent(ours.get("/api/export/label-studio.json", params={"anonymous": True}))
        made = {task["data"]["hybridal_id"]: task["annotations"] for task in exported if task.get("annotations")}
        assert {id: sorted(_chosen(one[0]["result"])) for id, one in made.items()} == {
            id: sorted(names) for id, names in wanted.items()
        }


def _chosen(result: list[dict[str, Any]]) -> list[str]:
    return [name for region in result for name in region["value"]["choices"]]


def _learnt(ours: httpx.Client, round: int) -> dict[str, Any] | None:
    found: dict[str, Any] = sent(ours.get("/api/trainer"))
    return found if found["round"] >= round and found["phase"] == "waiting" else None
