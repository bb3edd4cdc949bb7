from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_results import paired, results, variant_name
from hybridal.schedules import make_schedule
from hybridal.testing import fake_history


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    study = Study("s", ("imdb",), ("retrain", "finetune"), seeds=(1, 2), overrides={"rounds": 3}, vary=({"batch": 8},))
    return StudyFolder.create(tmp_path / "s", study, {})


def fill(folder: StudyFolder, cell: int, letter: str, rounds: int, signal: str = "hybrid:accuracy") -> None:
    plan = folder.cells[cell]
    folder.home(plan).mkdir(parents=True, exist_ok=True)
    for t, record in enumerate(fake_history(make_schedule(signal).watches, cell, rounds), start=1):
        update = {"R": "retrain", "F": "finetune"}[letter]
        folder.journal(plan).append(replace(record, update_sequence=letter * t, update=update).to_json())


def test_a_row_a_complete_run_and_a_row_a_round_of_it(folder: StudyFolder) -> None:
    fill(folder, 0, "R", 3)
    fill(folder, 0, "F", 3)
    fill(folder, 1, "R", 2)
    found = results(folder)
    assert found.runs[["schedule", "seed", "update_sequence", "variant"]].to_numpy().tolist() == [
        ["retrain", 1, "RRR", "batch=8"],
        ["finetune", 1, "FFF", "batch=8"],
    ]
    assert len(found.rounds) == 6
    assert found.rounds["round"].tolist() == [1, 2, 3] * 2


def test_costs_are_sums_and_measures_those_of_the_end(folder: StudyFolder) -> None:
    fill(folder, 0, "F", 3)
    records = list(folder.rounds_by_sequence(folder.cells[0]).values())
    (row,) = results(folder).runs.to_dict("records")
    assert row["steps"] == sum(record.cost.steps for record in records)
    assert row["training_time"] == pytest.approx(sum(record.seconds["train"] for record in records))
    assert records[-1].test is not None
    assert row["test_f1"] == records[-1].test.f1
    assert row["first_finetune"] == 1
    assert row["t_star"] is None
    changes = results(folder).rounds["change_accuracy"].tolist()
    assert changes[1:] == [record.changes["accuracy"] for record in records[1:]]


def test_a_study_with_nothing_complete_is_empty(folder: StudyFolder) -> None:
    assert len(results(folder).runs) == len(results(folder).rounds) == 0


def test_runs_are_paired_by_cell() -> None:
    cell = {"task": "a", "backbone": "b", "acquisition": "c", "variant": ""}
    runs = pd.DataFrame({**cell, "seed": [1, 2, 3], "f1": [0.5, 0.6, 0.7]})
    other = pd.DataFrame({**cell, "seed": [3, 2, 1], "f1": [0.9, 0.8, None]})
    assert paired(runs, other, "f1") == ([0.6, 0.7], [0.8, 0.9])


def test_variants_are_called_by_their_fields() -> None:
    assert [variant_name({"initial": 50}), variant_name({"candidates": None})] == ["initial=50", "candidates=all"]
    assert variant_name({}) == ""


def test_results_keep_the_device_of_their_folder(folder: StudyFolder) -> None:
    assert results(StudyFolder(folder.path, folder.study, "cuda:1")).folder.device == "cuda:1"
