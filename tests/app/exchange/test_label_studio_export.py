from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlalchemy import event

from hybridal.app.exchange.label_studio import ImportedTask, LabelConfig
from hybridal.app.exchange.label_studio_export import export_tasks, model_version, predict_tasks
from hybridal.app.exchange.label_studio_import import match_texts
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project

from .projects import NASTY, empty, made, prediction


def tasks(project: Project, anonymous: bool = False) -> dict[str, Any]:
    return {task["data"]["hybridal_id"]: task for task in json.loads(b"".join(export_tasks(project.reads, anonymous)))}


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


def test_skips_decisions_and_model_annotations_are_distinguished(tmp_path: Path) -> None:
    found = tasks(made(tmp_path))
    [skip] = found["d"]["annotations"]
    assert (skip["was_cancelled"], skip["result"]) == (True, [])
    assert [one["ground_truth"] for one in found["e"]["annotations"]] == [False, False, True]
    assert [one["completed_by"]["email"] for one in found["f"]["annotations"]] == ["(file)"]
    assert found["g"]["annotations"] == []
    assert found["g"]["predictions"][0]["model_version"] == "small"
    assert found["rest 0"]["annotations"] == found["rest 0"]["predictions"] == []


def test_export_without_names_is_accepted_by_any_label_studio(tmp_path: Path) -> None:
    found = tasks(made(tmp_path), anonymous=True)
    assert not any("completed_by" in one for task in found.values() for one in task["annotations"])


def test_many_and_no_texts_are_one_list(tmp_path: Path) -> None:
    assert tasks(empty(tmp_path)) == {}
    rows = [(f"t{at}", f"text {at}", None) for at in range(1001)]
    assert len(tasks(Project.create(Source("many", rows, ()), tmp_path / "many.hybridal"))) == 1001


def test_a_task_is_found_by_its_words_whatever_they_are(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, db)
    with project.sessions.begin() as session:
        prediction(session, "b", "idea", 0.25)
        session.flush()
        [found] = predict_tasks(session, [{"id": 1, "data": {"text": NASTY}}], LabelConfig())
    assert (found["score"], found["model_version"]) == (0.25, "round 3")


def test_many_tasks_are_answered_at_once(tmp_path: Path) -> None:
    with made(tmp_path).reads() as session:
        tasks = [{"data": {"text": f"unknown {at}"}} for at in range(1200)]
        found = predict_tasks(session, [*tasks, {"data": {"text": "It crashes."}}], LabelConfig())
    assert [bool(one["result"]) for one in found] == [False] * 1200 + [True]


def test_without_a_model_there_is_no_version(tmp_path: Path) -> None:
    with empty(tmp_path).reads() as session:
        assert model_version(session) == ""
        assert predict_tasks(session, [{"data": {"text": "x"}}], LabelConfig()) == [
            {"model_version": "", "score": 0.0, "result": []}
        ]


def test_neither_a_prediction_nor_an_event_walks_through_all_texts(tmp_path: Path) -> None:
    project = made(tmp_path)
    steps: list[str] = []

    @event.listens_for(project.engine, "before_cursor_execute")
    def explain(connection, cursor, statement, parameters, context, many):  # type: ignore[no-untyped-def]
        if "texts" in statement:
            found = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            steps.extend(step[3] for step in found)

    with project.reads() as session:
        [found] = predict_tasks(session, [{"data": {"text": "It crashes."}}], LabelConfig())
        assert match_texts(session, [ImportedTask("7", "It crashes."), ImportedTask("b", "new")])[0][0] == "a"
    assert found["score"] == 0.75
    assert any("texts_by_digest" in step for step in steps)
    assert [step for step in steps if step.startswith("SCAN texts")] == []
