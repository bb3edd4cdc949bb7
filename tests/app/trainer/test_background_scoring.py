"""All texts are scored in the background: by the newest model, in parts, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select
from typer.testing import CliRunner

from hybridal.app.db.schema import Lease, Prediction, Text
from hybridal.app.exchange.table_files import prediction_rows
from hybridal.app.labelling import classes
from hybridal.app.project import Project
from hybridal.app.trainer import background_scoring as module
from hybridal.app.trainer.cycle import Cycle
from hybridal.cli.main_app import app as command_line
from hybridal.learners.text_classifier import TextClassifier

from ..copies import copied
from .projects import RULES, TASK, label_some, made, row, scoring, want_scores


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def score_all(cycle: Cycle) -> None:
    while cycle.score():
        pass


def learnt(project: Project, rounds: int = 1) -> Cycle:
    """A trainer after `rounds` rounds: the first model is a probe, the second is trained."""
    cycle = Cycle(project)
    cycle.start()
    for at in range(rounds):
        label_some(project, 6, 0 if at else 6)
        assert cycle.turn()
    return cycle


def rounds(project: Project) -> dict[int, int]:
    """How many texts each round's model has scored last."""
    with project.reads() as session:
        found = select(Prediction.round, func.count()).group_by(Prediction.round)
        return dict(session.execute(found).all())


def told(project: Project) -> dict[str, list[Any]]:
    lines = [*prediction_rows(project)]
    return {name: [line[name] for line in lines] for name in lines[0]}


@pytest.mark.parametrize("after", [1, 2], ids=["a probe", "a trained model"])
def test_all_texts_are_scored_and_read_and_the_model_is_written(project: Project, after: int) -> None:
    cycle = learnt(project, after)
    score_all(cycle)
    assert rounds(project) == {after: 90}
    progress = scoring(project)
    assert (progress.state, progress.round, progress.done, progress.total, progress.error) == (
        "running",
        after,
        90,
        90,
        "",
    )
    assert (row(project).phase, row(project).error) == ("waiting", "")
    model = TextClassifier.load(project.exports / "model", device="cpu")
    expected = model.predict_proba(list(TASK.train.texts))
    table = told(project)
    assert table["id"] == list(TASK.train.ids)
    np.testing.assert_allclose(np.array([table["p(sport)"], table["p(food)"]]).T, expected, atol=2e-3)
    assert cycle.chapter is not None
    read = project.embeddings.read()
    assert read is not None
    embedded = cycle.chapter.model.embed(list(TASK.train.texts))
    np.testing.assert_allclose(read.values[1:], embedded, atol=5e-3)
    assert not cycle.score()


def test_app_library_command_line_and_plain_transformers_say_the_same(project: Project, tmp_path: Path) -> None:
    from transformers import pipeline

    cycle = learnt(project, 2)
    with project.sessions.begin() as session:
        classes.rename(session, classes.find(session, "sport").number, "id")
    score_all(cycle)
    assert cycle.chapter is not None
    texts, table = list(TASK.train.texts), told(project)
    app = np.array([table["p(id)"], table["p(food)"]]).T
    library = cycle.chapter.learner.predict_proba(texts)
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    asked = [
        str(project.exports / "model"),
        str(tmp_path / "texts.jsonl"),
        "--out",
        str(tmp_path / "predictions.jsonl"),
    ]
    assert CliRunner().invoke(command_line, ["predict", *asked, "--device", "cpu"]).exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    command = np.array([[line["p(id)"], line["p(food)"]] for line in lines])
    classify = pipeline("text-classification", model=str(project.exports / "model"), device="cpu")
    exported = classify(texts, truncation=True, top_k=None, batch_size=16)
    plain = np.array(
        [[{one["label"]: one["score"] for one in each}[name] for name in ("id", "food")] for each in exported]
    )
    for other in (library, command, plain):
        np.testing.assert_allclose(other, app, atol=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "first"])  # one is written as it is, the other is built to be written
def test_predictions_use_current_class_names(tmp_path: Path, pooling: str) -> None:
    project = made(tmp_path / "toys.hybridal", overrides={**RULES, "pooling": pooling})
    cycle = learnt(project)
    score_all(cycle)
    (project.exports / ".model.77").mkdir()
    with project.sessions.begin() as session:
        classes.rename(session, classes.find(session, "sport").number, "id")
    assert not cycle.score()
    config = json.loads((project.exports / "model" / "config.json").read_text())
    assert config["id2label"] == {"0": "id", "1": "food"}
    assert config["label2id"] == {"id": 0, "food": 1}
    assert json.loads((project.exports / "model" / "hybridal.json").read_text())["pooling"] == pooling
    assert cycle.chapter is not None
    assert cycle.chapter.learner.experiment.task.classes == ("sport", "food")
    assert {path.name for path in project.exports.iterdir()} == {"model"}
    project.close()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts were read at once by an encoder, trained or not, in parts of twenty."""
    from hybridal.models.transformer import TransformerModel

    asked: list[int] = []
    embed, predict = TransformerModel.embed, TextClassifier.predict_proba

    def embedding(self: TransformerModel, texts: list[str]) -> Any:
        asked.append(len(texts))
        return embed(self, texts)

    def predicting(self: TextClassifier, texts: list[str]) -> Any:
        asked.append(len(texts))
        return predict(self, texts)

    monkeypatch.setattr(TransformerModel, "embed", embedding)
    monkeypatch.setattr(TextClassifier, "predict_proba", predicting)
    monkeypatch.setattr(module, "PART", 20)
    return asked


def test_training_goes_first_and_the_newest_predictions_replace_older_ones(
    project: Project, counted: list[int]
) -> None:
    cycle = learnt(project)
    known = rounds(project)[1]
    assert cycle.score()
    assert cycle.score()
    assert (scoring(project).done, scoring(project).total) == (known + 40, 90)
    label_some(project, 6)
    assert cycle.turn()
    second = rounds(project)
    assert (row(project).round, {*second} >= {1, 2}) == (2, True), "predictions of the first stay meanwhile"
    assert cycle.score()
    seen = sum(second.values())
    assert sum(rounds(project).values()) == min(seen + 20, 90), "texts that no model has seen come first"
    score_all(cycle)
    assert rounds(project) == {2: 90}


def test_a_probe_reads_no_text_twice_and_a_restart_none_again(project: Project, counted: list[int]) -> None:
    cycle = learnt(project)
    cycle.score()
    read = project.embeddings.read()
    assert read is not None
    with project.reads() as session:
        texts = session.execute(select(Text.row, Text.id)).all()
    unread = [text.id for text in texts if text.row >= len(read.stamps) or not read.stamps[text.row]]
    assert len(unread) == 70
    counted.clear()
    again = Cycle(project)
    again.start()
    score_all(again)
    assert again.chapter is not None
    assert sum(counted) == 70 - len(again.chapter.known_features(unread)), "nor what a probe has looked at itself"
    with project.sessions.begin() as session:
        session.query(Prediction).update({Prediction.round: 0})
    counted.clear()
    last = Cycle(project)
    last.start()
    score_all(last)
    assert (counted, rounds(project)) == ([], {1: 90})


def test_a_new_head_reads_no_text_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With this schedule the encoder is never trained; from the second round on the model is no probe."""
    from hybridal.models.transformer import TransformerModel

    project = made(tmp_path / "heads.hybridal", schedule="refit")
    asked: list[int] = []
    read = TransformerModel.text_features

    def reading(self: TransformerModel, texts: list[str]) -> Any:
        asked.append(len(texts))
        return read(self, texts)

    def said_by(round: int) -> set[int]:
        with project.reads() as session:
            return {*session.scalars(select(Prediction.text_row).where(Prediction.round == round))}

    cycle = learnt(project, 2)
    looked_at = said_by(2)  # in learning and choosing, before the background begins
    score_all(cycle)
    monkeypatch.setattr(TransformerModel, "text_features", reading)
    label_some(project, 6)
    assert cycle.turn()
    looked_at -= said_by(3)
    score_all(cycle)
    assert (sum(asked), rounds(project)) == (len(looked_at), {3: 90})
    assert cycle.chapter is not None
    expected = cycle.chapter.learner.predict_proba(list(TASK.train.texts))
    table = told(project)
    np.testing.assert_allclose(np.array([table["p(sport)"], table["p(food)"]]).T, expected, atol=2e-3)
    project.close()


@pytest.mark.usefixtures("counted")
def test_visible_texts_are_scored_first(project: Project) -> None:
    cycle = learnt(project)
    with project.sessions.begin() as session:
        unseen = select(Text.row).where(Text.row.not_in(select(Prediction.text_row))).order_by(Text.row.desc())
        held, *seen = session.scalars(unseen.limit(3))
        session.add(Lease(text_row=held, person_number=1, until=9e9))
    want_scores(project, first=",".join(map(str, seen)))
    before = sum(rounds(project).values())
    assert cycle.score()
    assert (sum(rounds(project).values()), scoring(project).first) == (before + 2, "")
    assert cycle.score()
    with project.reads() as session:
        assert {*session.scalars(select(Prediction.text_row))} >= {held, *seen}


def test_scoring_can_be_paused_and_resumed(project: Project, counted: list[int]) -> None:
    cycle = learnt(project)
    assert cycle.score()
    want_scores(project, "paused")
    before = rounds(project)
    assert not cycle.score()
    assert rounds(project) == before
    want_scores(project)
    score_all(cycle)
    assert rounds(project) == {1: 90}


def test_failed_scoring_pauses_with_its_reason_and_can_be_retried(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = learnt(project)
    with monkeypatch.context() as patch:
        patch.setattr(module, "keep_predictions", lambda *_: (_ for _ in ()).throw(OSError("No space left")))
        assert not cycle.score()
    assert (scoring(project).state, scoring(project).error) == ("paused", "OSError: No space left")
    assert row(project).phase == "waiting"
    want_scores(project)
    score_all(cycle)
    assert (rounds(project), scoring(project).done) == ({1: 90}, 90)


def test_scoring_without_a_model_does_nothing(project: Project) -> None:
    cycle = Cycle(project)
    cycle.start()
    assert not cycle.score()


def test_cluster_scores_texts_that_are_not_visible(
    project: Project, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its workers load the exported model and get the texts in shards; a pause releases them."""
    from hybridal.learners import pool_scoring as ray_scoring

    events: list[Any] = []

    def score_pool(texts: Iterator[str], model: Path, address: str, size: int) -> Iterator[Any]:
        worker = TextClassifier.load(model, device="cpu")
        events.append(address)
        try:
            while some := list(islice(texts, size)):
                yield worker.predict_proba(some)
        finally:
            events.append("let go")

    monkeypatch.setattr(ray_scoring, "score_pool", score_pool)
    monkeypatch.setattr(module, "SHARD", 30)
    monkeypatch.setenv("HYBRIDAL_RAY", "10.0.0.1:6379")
    probe = learnt(project)
    score_all(probe)
    assert events == [], "a probe needs no cluster"
    label_some(project, 6)
    assert probe.turn()
    assert probe.score()
    assert events == ["10.0.0.1:6379"]
    want_scores(project, "paused")
    assert not probe.score()
    assert events == ["10.0.0.1:6379", "let go"]
    want_scores(project)
    counted.clear()
    score_all(probe)
    assert events == ["10.0.0.1:6379", "let go"] * 2
    assert rounds(project) == {2: 90}
    table, texts = told(project), list(TASK.train.texts)
    expected = TextClassifier.load(project.exports / "model", device="cpu").predict_proba(texts)
    np.testing.assert_allclose(np.array([table["p(sport)"], table["p(food)"]]).T, expected, atol=2e-3)
