"""Cells whose model chooses its pretrained encoder: schedules share rounds as with one encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.core.rounds import Round
from hybridal.lab.study.comparison import Comparison
from hybridal.lab.study.study import Study
from hybridal.runs import run
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task
from tests.helpers.topic_encoder import topic_encoder

from .linear import damage

SPECS = ("auto", "retrain", "finetune", "refit")
RULES = {"rounds": 3, "initial": 8, "batch": 8, "candidates": 40, "max_epochs": 2, "min_steps": 4, "probe_until": 4}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    task, file = toy_task(), tmp_path / "texts.csv"
    rows = [f"{text},{task.classes[label]}\n" for text, label in zip(task.train.texts, task.train.labels, strict=True)]
    file.write_text("text,label\n" + "".join(rows))
    backbone = f"auto:tiny,{topic_encoder(task, tmp_path / 'topics')}"
    return Settings(str(file), label="label", backbone=backbone, device="cpu", overrides=RULES, schedule="x")


def timeless(history: tuple[Round, ...] | list[Round]) -> list[Round]:
    return [replace(record, seconds={}, changes={}) for record in history]


def test_schedules_share_rounds_and_resume(settings: Settings, tmp_path: Path) -> None:
    """Also after the states were lost, so that they are computed again from the records."""
    compared = Comparison.begin(settings, SPECS, tmp_path / "comparison")
    compared.resume()
    found = compared.histories()
    for spec in ("auto", "finetune"):
        alone = run.resume_run(run.begin(replace(settings, schedule=spec), tmp_path / spec))
        assert timeless(found[spec]) == timeless(alone)
    assert [record.encoder.changed for record in found["auto"] if record.encoder] == [False, True, False]
    assert "refit" in {record.update for record in found["refit"][1:]}, "a frozen encoder stays frozen after a change"

    records = compared.folder.rounds.path.read_text().splitlines(keepends=True)
    again = tmp_path / "again"
    (again / "texts").parent.mkdir()
    other = Comparison.begin(settings, SPECS, again / "comparison")
    other.folder.rounds.path.write_text("".join(records[:4]))
    damage(other.folder.checkpoint)
    other.resume()
    assert {spec: timeless(history) for spec, history in other.histories().items()} == {
        spec: timeless(history) for spec, history in found.items()
    }


def test_keys_of_cells_name_the_candidates() -> None:
    cells = Study("s", ("trec",), ("retrain",), backbones=("minilm", "auto:minilm,/models/gte-small")).cells()
    assert cells[0].key.startswith("trec-minilm-margin-")
    assert cells[1 * 5].key.startswith("trec-minilm-gte-small-margin-")
