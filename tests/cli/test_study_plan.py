from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridal.cli.study_command import print_plan
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.testing import fake_history


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    """A cell of at least 4 and at most 6 distinct rounds."""
    study = Study("s", ("imdb",), ("retrain", "hybrid:accuracy:0.01:1"), seeds=(1,), overrides={"rounds": 4})
    return StudyFolder.create(tmp_path / "s", study, {})


def record(folder: StudyFolder, rounds: int) -> None:
    """A trunk on which accuracy never calms down."""
    (cell,) = folder.cells
    folder.home(cell).mkdir(parents=True)
    for round_record in fake_history((), 0, rounds):
        changes = {"accuracy": None if round_record.round == 1 else 0.5}
        folder.journal(cell).append({**round_record.to_json(), "changes": changes, "seconds": {"train": 60.0}})


def printed(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_plan(folder, json=False)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "Study 's': 2 runs in 1 cell, 8 rounds."
    return others


def test_plan_before_the_first_round(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(folder, capsys) == [
        "Schedules share rounds: 4 to 6 are distinct (1.3 to 2.0 times less work); 0 are done.",
        "How long it takes will be known after the first rounds.",
    ]


def test_plan_of_a_started_study(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, 3)
    assert printed(folder, capsys) == [
        "Schedules share rounds: 4 to 6 are distinct (1.3 to 2.0 times less work); 3 are done.",
        "At most 3 minutes left in one process, from 3 measured rounds.",
    ]


def test_plan_of_a_complete_study_counts_distinct_rounds(
    folder: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    record(folder, 4)
    assert printed(folder, capsys) == ["All runs are complete: 4 rounds were distinct (2.0 times less work)."]
    print_plan(folder, json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["done"], found["most"], found["left"], found["seconds_left"]) == (4, 6, 0, 0.0)


def test_plan_of_one_run_has_no_sharing_and_singular_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = StudyFolder.create(
        tmp_path / "alone", Study("s", ("imdb",), ("retrain",), seeds=(1,), overrides={"rounds": 1}), {}
    )
    print_plan(alone, json=False)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "Study 's': 1 run in 1 cell, 1 round.",
        "Schedules share no rounds; 0 are done.",
    ]
    record(alone, 1)
    print_plan(alone, json=False)
    assert capsys.readouterr().out.splitlines()[1] == "All runs are complete: 1 round was distinct (none was shared)."
