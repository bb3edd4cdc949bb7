from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from hybridal.app.labelling import classes
from hybridal.app.project import Project
from hybridal.app.trainer import chapter as module
from hybridal.app.trainer.cycle import Cycle
from hybridal.cli.app import app as command_line
from hybridal.learners.text_classifier import TextClassifier

from .projects import RULES, TASK, ask, label, label_some, made, row, unlabelled


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = made(tmp_path / "toys.hybridal")
    yield project
    project.close()


def predicted(project: Project) -> Cycle:
    label_some(project, 6, 6)
    cycle = Cycle(project)
    cycle.start()
    cycle.turn()
    with project.sessions.begin() as session:
        classes.rename(session, classes.find(session, "sport").number, "id")
    ask(project, "predict")
    assert cycle.turn()
    return cycle


def test_every_text_is_predicted_as_the_exported_model_predicts_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 40)
    said: list[tuple[int, int]] = []
    monkeypatch.setattr("hybridal.app.trainer.publish.Status.progress", lambda _, done, of: said.append((done, of)))
    predicted(project)
    assert said[-3:] == [(40, 90), (80, 90), (90, 90)]
    assert (row(project).phase, row(project).asked, row(project).error) == ("waiting", "", "")
    table = parquet.read_table(project.exports / "predictions.parquet").to_pydict()
    assert list(table) == ["id", "class", "probability", "p(id)", "p(food)"]
    assert table["id"] == list(TASK.train.ids)
    model = TextClassifier.load(project.exports / "model", device="cpu")
    assert model.classes == ("id", "food")
    expected = model.predict_proba(list(TASK.train.texts))
    found = np.array([table["p(id)"], table["p(food)"]]).T
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert table["class"] == [model.classes[best] for best in found.argmax(axis=1)]
    assert table["probability"] == found.max(axis=1).tolist()


def test_app_library_command_line_and_plain_transformers_say_the_same(project: Project, tmp_path: Path) -> None:
    from transformers import pipeline

    cycle = predicted(project)
    assert cycle.chapter is not None
    texts = list(TASK.train.texts)
    table = parquet.read_table(project.exports / "predictions.parquet").to_pydict()
    app = np.array([table["p(id)"], table["p(food)"]]).T
    library = cycle.chapter.learner.predict_proba(texts)
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    asked = [str(project.exports / "model"), str(tmp_path / "texts.jsonl"), "--out", str(tmp_path / "said.jsonl")]
    assert CliRunner().invoke(command_line, ["predict", *asked, "--device", "cpu"]).exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    command = np.array([[line["p(id)"], line["p(food)"]] for line in lines])
    classify = pipeline("text-classification", model=str(project.exports / "model"), device="cpu")
    said = classify(texts, truncation=True, top_k=None, batch_size=16)
    plain = np.array([[{one["label"]: one["score"] for one in each}[name] for name in ("id", "food")] for each in said])
    for other in (library, command, plain):
        np.testing.assert_allclose(other, app, atol=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "first"])  # one is written as it is, the other is built to be written
def test_the_model_speaks_in_the_names_that_the_classes_have_now(tmp_path: Path, pooling: str) -> None:
    project = made(tmp_path / "toys.hybridal", overrides={**RULES, "pooling": pooling})
    cycle = predicted(project)
    config = json.loads((project.exports / "model" / "config.json").read_text())
    assert config["id2label"] == {"0": "id", "1": "food"}
    assert config["label2id"] == {"id": 0, "food": 1}
    assert json.loads((project.exports / "model" / "hybridal.json").read_text())["pooling"] == pooling
    assert cycle.chapter is not None
    assert cycle.chapter.learner.cell.task.classes == ("sport", "food")
    project.close()


def test_a_second_time_replaces_the_first_and_what_was_left_half_done(project: Project) -> None:
    cycle = predicted(project)
    first = (project.exports / "predictions.parquet").read_bytes()
    (project.exports / ".predictions.parquet.77").touch()
    (project.exports / ".model.77").mkdir()
    label(project, unlabelled(project, "pool", 6), "food")
    cycle.turn()
    ask(project, "predict")
    cycle.turn()
    assert (project.exports / "predictions.parquet").read_bytes() != first
    assert {path.name for path in project.exports.iterdir()} == {"predictions.parquet", "model"}


def test_without_a_model_there_is_nothing_to_predict_and_training_goes_on(project: Project) -> None:
    cycle = Cycle(project)
    cycle.start()
    ask(project, "predict")
    assert cycle.turn()
    assert (row(project).phase, row(project).error) == ("failed", "There is no model yet; label some texts first.")
    label_some(project, 6, 6)
    assert cycle.turn()
    assert (row(project).round, row(project).error) == (1, "")
