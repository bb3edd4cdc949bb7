import json
from pathlib import Path
from typing import Any

from hybridal.app.exchange.label_studio_out import as_json
from hybridal.app.labelling.source import Source
from hybridal.app.project import Project

from .projects import NASTY, empty, made


def tasks(project: Project, anonymous: bool = False) -> dict[str, Any]:
    return {task["data"]["hybridal_id"]: task for task in json.loads(b"".join(as_json(project.reads, anonymous)))}


def test_all_texts_come_with_answers_and_predictions(tmp_path: Path, db: str | None) -> None:
    found = tasks(made(tmp_path, db))
    assert [*found] == [*"abcdefg", "rest 0", "rest 1", "rest 2"]
    assert found["b"]["data"]["text"] == NASTY
    ann, bo = found["a"]["annotations"]
    assert ann["result"] == [
        {
            "from_name": "label",
            "to_name": "text",
            "type": "choices",
            "value": {"choices": ["bug"]},
            "meta": {"text": ["clear"]},
        }
    ]
    assert (ann["completed_by"]["email"], bo["completed_by"]["email"]) == ("Ann", "Bo")
    assert (ann["task"], ann["was_cancelled"], ann["ground_truth"]) == (found["a"]["id"], False, False)
    assert found["a"]["predictions"][0]["score"] == 0.75
    assert found["a"]["predictions"][0]["model_version"] == "round 3"
    assert found["rest 1"]["predictions"][0]["result"][0]["value"] == {"choices": ["idea"]}


def test_skips_decisions_and_machines_are_told_apart(tmp_path: Path) -> None:
    found = tasks(made(tmp_path))
    [skip] = found["d"]["annotations"]
    assert (skip["was_cancelled"], skip["result"]) == (True, [])
    assert [one["ground_truth"] for one in found["e"]["annotations"]] == [False, False, True]
    assert [one["completed_by"]["email"] for one in found["f"]["annotations"]] == ["(file)"]
    assert found["g"]["annotations"] == []
    assert found["g"]["predictions"][0]["model_version"] == "small"
    assert found["rest 0"]["annotations"] == found["rest 0"]["predictions"] == []


def test_without_names_any_label_studio_takes_it(tmp_path: Path) -> None:
    found = tasks(made(tmp_path), anonymous=True)
    assert not any("completed_by" in one for task in found.values() for one in task["annotations"])


def test_many_and_no_texts_are_one_list(tmp_path: Path) -> None:
    assert tasks(empty(tmp_path)) == {}
    rows = [(f"t{at}", f"text {at}", None) for at in range(1001)]
    assert len(tasks(Project.create(Source("many", rows, ()), tmp_path / "many.hybridal"))) == 1001
