from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridal.app.labelling.text_source import read_source
from hybridal.app.labelling.texts import Row
from hybridal.tasks.argilla_records import record_row
from hybridal.tasks.from_files import load_files


def record(id: str, *answers: Any, **more: Any) -> dict[str, Any]:
    """A record as argilla 2 writes it."""
    responses = {"topics": [{"value": answer, "user_id": str(at)} for at, answer in enumerate(answers)]}
    facts = {"metadata": {"page": 3}, "suggestions": {}, "vectors": {}, "status": "completed", "_server_id": "x"}
    return {"id": id, "fields": {"text": f"text {id}"}, "responses": responses, **facts, **more}


@pytest.mark.parametrize("name", ["records.json", "records.jsonl"])
def test_records_are_read_as_rows(tmp_path: Path, name: str) -> None:
    records = [record("a", ["x", "y"], ["y", "x"]), record("b", []), record("c", ["x"], ["y"]), record("d")]
    written = json.dumps(records) if name == "records.json" else "\n".join(map(json.dumps, records))
    (tmp_path / name).write_text(written)
    task = load_files(tmp_path / name, text="text", label="topics", id="id", validation_size=0, test_size=0)
    assert task.answers(task.train.ids) == {"a": frozenset("xy"), "b": frozenset()}
    assert task.train.ids == ["a", "b", "c", "d"]
    found = read_source(tmp_path / name, label="topics", id="id")
    assert (found.multi_label, Row(*found.rows[0]).context) == (True, {"page": "3"})


@pytest.mark.parametrize(
    ("responses", "answer"),
    [
        ([{"value": "x"}], "x"),
        ([{"value": "x"}, {"value": "x"}], "x"),
        ([{"value": "x"}, {"value": "y"}], None),
        ([{"value": "x"}, {"user_id": "2"}], "x"),
        ([None, 3, {}], None),
        ("x", None),
        (None, None),
    ],
)
def test_an_answer_is_that_on_which_people_agree(responses: Any, answer: Any) -> None:
    assert record_row({"fields": {"text": "t"}, "responses": {"q": responses}}) == {"q": answer, "text": "t"}


def test_other_objects_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "a", "label": "x", "responses": {"n": 1}}\n{"text": "b", "label": "y", "fields": 3}\n')
    assert load_files(path, label="label", validation_size=0, test_size=0).classes == ("x", "y")
