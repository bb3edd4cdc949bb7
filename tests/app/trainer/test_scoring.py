from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from hybridal.app.labelling import classes
from hybridal.app.project import Project
from hybridal.app.trainer import scoring as module
from hybridal.app.trainer.cycle import Cycle
from hybridal.cli.app import app as command_line
from hybridal.learners.text_classifier import TextClassifier

from .projects import RULES, TASK, label, label_some, made, row, scoring, unlabelled, want_scores


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = made(tmp_path / "toys.hybridal")
    yield project
    project.close()


def turn_until_rest(cycle: Cycle) -> None:
    while cycle.turn():
        pass


def predicted(project: Project) -> Cycle:
    label_some(project, 6, 6)
    cycle = Cycle(project)
    cycle.start()
    cycle.turn()
    with project.sessions.begin() as session:
        classes.rename(session, classes.find(session, "sport").number, "id")
    want_scores(project)
    turn_until_rest(cycle)
    return cycle


def test_every_text_is_predicted_as_the_exported_model_predicts_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PART", 40)
    predicted(project)
    said = scoring(project)
    assert (said.state, said.round, said.done, said.total, said.error) == ("none", 1, 90, 90, "")
    assert (row(project).phase, row(project).error) == ("waiting", "")
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
    want_scores(project, job=2)
    turn_until_rest(cycle)
    assert (project.exports / "predictions.parquet").read_bytes() != first
    assert {path.name for path in project.exports.iterdir()} == {"predictions.parquet", "model", "scoring"}
    assert [*(project.exports / "scoring").iterdir()] == []


def begun(project: Project, monkeypatch: pytest.MonkeyPatch) -> Cycle:
    """A trainer after 40 of 90 texts."""
    monkeypatch.setattr(module, "PART", 20)
    label_some(project, 6, 6)
    cycle = Cycle(project)
    cycle.start()
    assert cycle.turn()
    want_scores(project)
    assert cycle.turn()
    assert cycle.turn()
    assert (scoring(project).done, scoring(project).total) == (40, 90)
    return cycle


def test_labels_are_learnt_between_two_parts_and_one_model_scores_them_all(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = begun(project, monkeypatch)
    label_some(project, 6)
    assert cycle.turn()
    assert (row(project).round, scoring(project).done) == (2, 40)
    turn_until_rest(cycle)
    assert (scoring(project).state, scoring(project).round) == ("none", 1)
    table = parquet.read_table(project.exports / "predictions.parquet").to_pydict()
    expected = TextClassifier.load(project.exports / "model", device="cpu").predict_proba(list(TASK.train.texts))
    np.testing.assert_allclose(np.array([table["p(sport)"], table["p(food)"]]).T, expected, atol=1e-5)


def test_after_a_restart_what_was_scored_is_not_scored_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(project, monkeypatch)
    asked: list[int] = []
    real = TextClassifier.predict_proba

    def counted(self: TextClassifier, texts: list[str]) -> Any:
        asked.append(len(texts))
        return real(self, texts)

    monkeypatch.setattr(TextClassifier, "predict_proba", counted)
    cycle = Cycle(project)
    cycle.start()
    turn_until_rest(cycle)
    assert asked == [20, 20, 10]
    assert parquet.read_table(project.exports / "predictions.parquet")["id"].to_pylist() == list(TASK.train.ids)


def test_it_can_be_paused_and_goes_on_and_cancelled(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = begun(project, monkeypatch)
    want_scores(project, "paused")
    assert not cycle.turn()
    assert cycle.job is None, "its model stays in memory"
    want_scores(project)
    assert cycle.turn()
    assert scoring(project).done == 60
    want_scores(project, "none")
    assert not cycle.turn()
    assert not cycle.turn()
    assert [*(project.exports / "scoring").iterdir()] == []
    assert not (project.exports / "predictions.parquet").exists()


def test_killed_while_it_finishes_it_finishes_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = begun(project, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(TextClassifier, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            turn_until_rest(cycle)
    again = Cycle(project)
    again.start()
    assert not again.turn()
    assert scoring(project).state == "none"
    assert (project.exports / "model" / "config.json").is_file()


def test_what_fails_pauses_with_its_reason_and_can_be_tried_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = begun(project, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(TextClassifier, "predict_proba", lambda *_: (_ for _ in ()).throw(OSError("No space left")))
        assert not cycle.turn()
    assert (scoring(project).state, scoring(project).error) == ("paused", "OSError: No space left")
    assert row(project).phase == "waiting"
    want_scores(project)
    turn_until_rest(cycle)
    assert (scoring(project).state, scoring(project).done) == ("none", 90)


def test_without_a_model_it_waits_for_one(project: Project) -> None:
    cycle = Cycle(project)
    cycle.start()
    want_scores(project)
    assert not cycle.turn()
    label_some(project, 6, 6)
    turn_until_rest(cycle)
    assert (row(project).round, scoring(project).state, scoring(project).done) == (1, "none", 90)
