"""Runs that choose their pretrained encoder among several."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.backbones import auto_candidates
from hybridal.core.observer import Observer
from hybridal.core.rounds import Round
from hybridal.learners.text_classifier import TextClassifier
from hybridal.runs import run
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task
from tests.helpers.topic_encoder import topic_encoder

OVERRIDES = {
    "rounds": 5,
    "initial": 8,
    "batch": 8,
    "candidates": 40,
    "max_epochs": 2,
    "min_steps": 6,
    "min_finetune_steps": 6,
    "learning_rate": 1e-3,
    "probe_until": 4,
    "validation_share": 0.1,
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    task, path = toy_task(), tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        answers = task.answers(task.train.ids)
        rows = zip(task.train.ids, task.train.texts, answers.values(), strict=True)
        csv.writer(file).writerows([["id", "text", "label"], *rows])
    encoder = topic_encoder(task, tmp_path / "topics")
    return Settings(
        str(path), label="label", id="id", backbone=f"auto:tiny,{encoder}", device="cpu", overrides=OVERRIDES
    )


def no_seconds(history: Sequence[Round]) -> list[Round]:
    return [replace(record, seconds={}) for record in history]


def chosen(history: Sequence[Round]) -> list[str]:
    return [Path(record.encoder.backbone).name for record in history if record.encoder]


def test_a_run_changes_to_the_encoder_that_suits_the_labels(settings: Settings, tmp_path: Path) -> None:
    """With eight labels there are too few to compare, and the first candidate is used."""
    history = run.resume_run(run.begin(settings, tmp_path / "run"))
    assert chosen(history) == ["tiny", "topics", "topics", "topics", "topics"]
    first, second, third = (record.encoder for record in history[:3])
    assert first
    assert second
    assert third
    assert (first.changed, second.changed, third.changed) == (False, True, False)
    assert (first.judged, second.judged, third.judged) == (0, 15, 15)
    assert history[1].update == "retrain"
    assert history[1].reason.startswith(f"new encoder, {second.backbone}: log loss ")
    assert set(history[1].changes.values()) == {None}, "signals compare models of one encoder"
    assert set(history[2].changes.values()) != {None}


def test_the_exported_model_has_the_chosen_encoder(settings: Settings, tmp_path: Path) -> None:
    folder = run.begin(settings, tmp_path / "run")
    run.resume_run(folder)
    card = (folder.model / "README.md").read_text()
    assert "topics` (chosen by labels: " in card
    model = TextClassifier.load(folder.model)
    assert model.predict(["goal goal team", "soup bread salt"]).tolist() == ["sport", "food"]


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_killed_run_resumes_to_the_same_records(settings: Settings, after: int, tmp_path: Path) -> None:
    class Killed(Observer):
        def round_done(self, history: Sequence[Round]) -> None:
            if len(history) == after:
                raise KeyboardInterrupt

    whole = run.resume_run(run.begin(settings, tmp_path / "whole"))
    folder = run.begin(settings, tmp_path / "killed")
    with pytest.raises(KeyboardInterrupt):
        run.resume_run(RunFolder.open(folder.path), Killed())
    history = run.resume_run(RunFolder.open(folder.path))
    assert no_seconds(history) == no_seconds(whole)
    assert no_seconds(RunFolder.open(folder.path).history()) == no_seconds(whole)


def test_labels_held_for_validation_do_not_choose(settings: Settings, tmp_path: Path) -> None:
    """Or the figures measured on them would be those of the luckiest of several encoders."""
    history = run.resume_run(run.begin(settings, tmp_path / "run"))
    judged = history[1].encoder
    assert judged
    assert judged.judged == history[1].labels
    assert history[1].validation


def test_records_of_a_named_encoder_are_as_before(settings: Settings, tmp_path: Path) -> None:
    named = settings.with_changes({"backbone": "tiny", "overrides": {"rounds": 1}})
    folder = run.begin(named, tmp_path / "run")
    run.resume_run(folder)
    line = json.loads(folder.rounds.path.read_text().splitlines()[0])
    assert "encoder" not in line
    assert "encoder" not in line["label_changes"]


def test_default_candidates_are_written_out(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a run goes on with the same ones where others can be had; a single one is as if it had been named."""
    monkeypatch.setattr(auto_candidates, "DEFAULT_CANDIDATES", ("topics", "tiny"))
    asked = replace(settings, backbone=Settings(settings.task).backbone)
    alone = run.begin(asked, tmp_path / "alone")
    assert alone.settings() == replace(settings, backbone="tiny", acquisition="margin")
    assert run.resume_run(alone)[0].encoder is None
    monkeypatch.setenv("HYBRIDAL_MODELS", str(tmp_path))
    assert run.begin(asked, tmp_path / "both").settings().backbone == "auto:topics,tiny"
