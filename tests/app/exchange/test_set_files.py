"""Sets of classes in files of labels and predictions: what goes out comes in again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from sqlalchemy import select

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Text
from hybridal.app.exchange.label_studio import LabelConfig, read_tasks
from hybridal.app.exchange.label_studio_export import export_tasks, predict_tasks
from hybridal.app.exchange.label_studio_import import import_tasks
from hybridal.app.exchange.table_files import LABEL_FORMATS, PREDICTION_FORMATS, label_rows, prediction_rows
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import settled_by_text
from hybridal.app.labelling.stored_class_sets import class_names, decisions_named, named
from hybridal.app.labelling.text_source import Source, preview_file, read_source
from hybridal.app.labelling.texts import Row, add
from hybridal.app.project import Project
from hybridal.app.trainer.stored_predictions import ScoredTexts, keep_predictions
from hybridal.errors import UserError
from hybridal.system.scratch import scratch
from hybridal.tasks import Task
from hybridal.tasks.answers import Answer, Decisions
from hybridal.tasks.columns import Columns

from ..made_up import make, me, people

pytestmark = pytest.mark.usefixtures("parquet_here")

# Separators, quotes, line ends, formulas, and what looks like JSON.
HOSTILE = ["a;b", "a,b", '"', "[]", '["x"]', '{"x": true}', "=1+1", "two\nlines", "null", "é|€"]
NAMES = st.sampled_from(HOSTILE) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
NAMES = NAMES.map(str.strip).filter(bool)
DECISIONS = st.dictionaries(NAMES, st.booleans(), min_size=1, max_size=3).map(Decisions.of)
ANSWERS = st.none() | st.frozensets(NAMES, max_size=4) | DECISIONS


def decided(project: Project) -> dict[str, Any]:
    """The classes of each text that has a consensus, or the decisions if they are partial."""
    with project.reads() as session:
        names = class_names(session)
        texts = dict(session.execute(select(Text.row, Text.id)).all())
        found = settled_by_text(session, [*texts])
        return {
            texts[row]: sorted(named(one.label, names)) if (some := decisions_named(one.label, names)) is None else some
            for row, one in found.items()
            if isinstance(one.label, ClassSet)
        }


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@given(answers=st.lists(ANSWERS, min_size=1, max_size=8))
def test_sets_of_hostile_names_are_read_again_as_they_were(kind: str, answers: list[Answer | None]) -> None:
    empty = {"source": "file", "split": "pool", "flagged": False, "comments": "", "at": "", "annotations": []}
    empty |= {"group": None, "codebook": 1}
    lines = [{"id": str(at), "text": "x", "label": _shown(answer), **empty} for at, answer in enumerate(answers)]
    with scratch() as folder:
        path = folder / f"labels.{kind}"
        path.write_bytes(b"".join(LABEL_FORMATS[kind](lines)))
        found = read_source(path, label="label", id="id", multi_label=True)
        assert [Row(*row).label for row in found.rows] == answers
        assert found.multi_label


def _shown(answer: Answer | None) -> Any:
    if isinstance(answer, Decisions):
        return answer.by_class()
    return None if answer is None else sorted(answer)


@pytest.fixture
def project(tmp_path: Path, db: str | None) -> Project:
    """Two people and a file give sets; t3 is partial, t4 skipped, t5 disputed, t6 without an answer."""
    rows = [(f"t{at}", f"text {at}", None) for at in range(1, 7)]
    given = [Row("file", "from a file", frozenset([HOSTILE[0]])), Row("none", "none of them", frozenset())]
    source = Source("sets", [*rows, *given], tuple(HOSTILE), multi_label=True)
    made = Project.create(source, tmp_path / "sets", db=db)
    [ann] = people(made, 1)
    with made.sessions.begin() as session:
        annotate(session, ann, "t1", "label", class_names=HOSTILE[3:6], key="1", comment="=1")
        annotate(session, ann, "t2", "label", class_names=[], key="2")
        annotate(session, ann, "t3", "label", decisions={HOSTILE[4]: False, HOSTILE[7]: True, "a,b": None}, key="3")
        annotate(session, ann, "t4", "skip", key="4")
        annotate(session, ann, "t5", "label", class_names=HOSTILE[:2], key="5")
        annotate(session, me(made), "t5", "label", class_names=HOSTILE[:3], key="6")
    return made


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("partial", [True, False], ids=["partial", "whole"])
def test_labels_that_go_out_come_in_again(project: Project, tmp_path: Path, kind: str, partial: bool) -> None:
    if not partial:
        with project.sessions.begin() as session:
            annotate(session, me(project), "t3", "label", class_names=[HOSTILE[7]], key="7", decides=True)
    path = tmp_path / f"labels.{kind}"
    path.write_bytes(b"".join(LABEL_FORMATS[kind](label_rows(project.reads))))
    again = Project.create(read_source(path, label="label", id="id"), tmp_path / "again")
    assert again.setting("multi_label")
    assert decided(again) == decided(project)
    assert decided(project)["t2"] == []
    assert len(decided(project)) == 5
    task = Task.from_file(path, label="label", id="id", validation_size=0, test_size=0, classes=sorted(HOSTILE))
    assert {id: _shown(answer) for id, answer in task.answers(task.train.ids).items()} == decided(project)
    if kind == "parquet":
        label = parquet.read_schema(path).field("label").type
        assert str(label) == ("string" if partial else "list<element: string>")
    again.close()
    project.close()


def test_tasks_that_go_out_to_label_studio_come_in_again(project: Project, tmp_path: Path) -> None:
    with project.sessions.begin() as session:
        annotate(session, me(project), "t6", "label", class_names=[], key="none", comment="why", flagged=True)
    tasks = json.loads(b"".join(export_tasks(project.reads)))
    choices = {one["data"]["hybridal_id"]: one["annotations"][0]["result"] for one in tasks if one["annotations"]}
    assert choices["t1"][0]["value"] == {"choices": sorted(HOSTILE[3:6])}
    assert choices["t3"][0]["meta"] == {"decisions": {HOSTILE[4]: False, HOSTILE[7]: True}}
    again = Project.create(Source("again", [], tuple(HOSTILE), multi_label=True), tmp_path / "again")
    read = read_tasks(tasks, several=True)
    assert import_tasks(again.sessions, read).labelled == 8
    assert (decided(again), import_tasks(again.sessions, read).labelled) == (decided(project), 0)
    assert import_tasks(project.sessions, read).labelled == 0, "a project knows its own export"
    lines = {line["id"]: line for line in label_rows(again.reads)}
    assert (lines["t6"]["flagged"], lines["t6"]["comments"]) == (True, "me (Label Studio): why")
    again.close()
    project.close()


def test_predictions_of_sets_are_served_to_label_studio(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=3, multi_label=True)
    scored = np.array([[0.75, 0.5, 0.1], [0.25, 0.1, 0.0]], dtype=np.float32)
    keep_predictions(project, 1, ScoredTexts(["t0", "t1"], scored, [1, 2, 3], thresholds=[0.5, 0.5, 0.5]))
    with project.reads() as session:
        found = predict_tasks(session, [{"data": {"text": f"text {at}"}} for at in range(3)], LabelConfig())
    assert [one["result"][0]["value"]["choices"] for one in found[:2]] == [["a", "b"], []]
    assert [one["score"] for one in found] == [0.75, 0.25, 0.0]
    exported = [one["predictions"] for one in json.loads(b"".join(export_tasks(project.reads)))]
    assert exported[0][0]["result"] == found[0]["result"]
    project.close()


def test_annotations_are_exported_with_all_that_people_gave(project: Project) -> None:
    lines = {line["id"]: line for line in label_rows(project.reads)}
    given = {id: [(one["classes"], one["decisions"]) for one in line["annotations"]] for id, line in lines.items()}
    assert given["t1"] == [(HOSTILE[3:6], None)]
    assert given["t3"] == [(None, {HOSTILE[4]: False, HOSTILE[7]: True})]
    assert given["t4"] == [(None, None)]
    assert given["t5"] == [(HOSTILE[:2], None), (HOSTILE[:3], None)]
    assert (lines["t5"]["label"], lines["t3"]["label"], lines["t2"]["label"]) == (None, given["t3"][0][1], [])
    project.close()


def test_a_spreadsheet_runs_no_class(project: Project) -> None:
    file = b"".join(LABEL_FORMATS["spreadsheet.csv"](label_rows(project.reads))).decode()
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in csv.reader(io.StringIO(file)) for cell in row)
    project.close()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predictions_are_exported_with_the_decided_set(tmp_path: Path, kind: str) -> None:
    project = make(tmp_path / "p", texts=3, multi_label=True)
    scored = np.array([[0.9, 0.7, 0.1], [0.2, 0.1, 0.0]], dtype=np.float32)
    keep_predictions(project, 1, ScoredTexts(["t0", "t1"], scored, [1, 2, 3], thresholds=[0.5, 0.5, 0.5]))
    file = b"".join(PREDICTION_FORMATS[kind](prediction_rows(project)))
    if kind == "parquet":
        rows = parquet.read_table(io.BytesIO(file)).to_pylist()
    else:
        rows = [{**row, "labels": json.loads(row["labels"])} for row in csv.DictReader(io.StringIO(file.decode()))]
    assert [row["labels"] for row in rows] == [["a", "b"], []]
    assert [*rows[0]] == ["id", "labels", "p(a)", "p(b)", "p(c)", "round"]
    project.close()


def write(path: Path, words: str) -> Path:
    path.write_text(words)
    return path


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("text,tags\nx,a; b\ny,[]\nz,\n", {"label": "tags", "label_separator": ";"}),
        ('text,tags\nx,"[""a"", ""b""]"\ny,[]\nz,\n', {"label": "tags"}),
        ("text,a,b\nx,1,1\ny,0,0\nz,,\n", {"label": ("a", "b")}),
    ],
)
def test_files_have_sets_as_tasks_have_them(tmp_path: Path, words: str, options: dict[str, Any]) -> None:
    found = read_source(write(tmp_path / "t.csv", words), **options)
    rows = [Row("1", "x", frozenset("ab")), Row("2", "y", frozenset()), Row("3", "z", None)]
    assert ([*found.rows], found.classes, found.multi_label) == (rows, ("a", "b"), True)


def test_a_preview_counts_each_class(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "text,tags\nx,a; b\ny,[]\nz,b\n")
    found = preview_file(path, Columns("text", "tags"), 10, label_separator=";")
    assert (found.labels, found.multi_label) == ({"b": 2, "a": 1}, True)
    assert preview_file(path, Columns("text", "tags"), 10).multi_label is False


def test_other_classes_are_left_out_of_sets(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "text,tags\nx,a; b\ny,c\n")
    found = read_source(path, label="tags", label_separator=";", classes=["b", "a"])
    assert [Row(*row).label for row in found.rows] == [frozenset("ab"), frozenset()]


def test_a_project_with_one_class_per_text_takes_lists_of_one(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=0, validation_first=0)
    path = write(tmp_path / "t.jsonl", '{"text": "x", "label": ["a"]}\n')
    with project.sessions.begin() as session:
        assert _add(session, read_source(path, label="label")) == 1
    with project.reads() as session:
        assert [one.label for one in settled_by_text(session, [1]).values()] == [classes.find(session, "a").number]
    path = write(tmp_path / "t.jsonl", '{"text": "y", "label": ["a", "b"]}\n')
    with project.sessions.begin() as session, pytest.raises(UserError, match="exactly one class"):
        _add(session, read_source(path, label="label"))
    project.close()


def _add(session: Any, source: Source) -> int:
    return add(session, source.rows, numbered=source.numbered).added
