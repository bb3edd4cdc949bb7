from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.core.observer import Observer
from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.lab.study.engines import CellOutcome, Here
from hybridal.lab.study.run_study_cells import begin_study, run_study
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.runs.assemble import Notify, find_task
from hybridal.runs.settings import Settings
from hybridal.tasks import Task

from .small_study import small_study


def timeless(folder: StudyFolder) -> dict[str, dict[str, Round]]:
    return {
        cell.key: {
            sequence: replace(record, seconds={}) for sequence, record in folder.rounds_by_sequence(cell).items()
        }
        for cell in folder.cells
    }


class Stop(Observer):
    """Stops as if the process had been interrupted, after a number of rounds."""

    def __init__(self, after: int) -> None:
        self.left = after

    def round_done(self, history: object) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_study_stopped_twice_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    whole = begin_study(study, tmp_path / "whole")
    assert [outcome.error for outcome in run_study(whole, Here())] == [None, None]

    broken = begin_study(study, tmp_path / "broken")
    for after in (4, 6):
        with pytest.raises(KeyboardInterrupt):
            run_study(StudyFolder.open(broken.path), Here(Stop(after)))
    run_study(StudyFolder.open(broken.path), Here())
    assert timeless(broken) == timeless(whole)
    for cell in whole.cells:
        assert len(whole.journal(cell).read()) == len(whole.rounds_by_sequence(cell)) == 3 + 3 + 1


def test_a_task_is_read_once_for_all_its_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Settings] = []

    def find(settings: Settings, notify: Notify) -> Task:
        found.append(settings)
        return find_task(settings, notify)

    monkeypatch.setattr("hybridal.lab.study.run_study_cells.find_task", find)
    begin_study(small_study(tmp_path, seeds=(1, 2, 3)), tmp_path / "s")
    assert len(found) == 1


def test_cells_that_measure_on_a_share_of_their_labels_have_splits_of_their_own(tmp_path: Path) -> None:
    study = replace(small_study(tmp_path, seeds=(1,)), vary=({"validation": "fixed"}, {"validation": "share"}))
    folder = begin_study(study, tmp_path / "s")
    fixed, share = ({name: len(split) for name, split in folder.task(cell).splits()} for cell in folder.cells)
    assert (fixed["validation"], share["validation"]) == (20, 0)
    assert share["train"] == fixed["train"] + 20


def test_states_of_a_cell_that_was_killed_when_it_was_complete_go(tmp_path: Path) -> None:
    folder = begin_study(small_study(tmp_path, seeds=(1,)), tmp_path / "s")
    with pytest.raises(KeyboardInterrupt):
        run_study(folder, Here(Stop(2)))
    states = folder.home(folder.cells[0]) / "states"
    states.mkdir(exist_ok=True)
    folder.tidy()
    assert states.exists(), "it is not complete yet"
    run_study(folder, Here())
    states.mkdir()
    with folder.working_on(folder.cells[0]):
        run_study(folder, Here())
        assert states.exists(), "a worker uses the folder"
        states.rmdir()
    states.mkdir()
    run_study(folder, Here())
    assert not states.exists()


def test_complete_cells_never_run_again(tmp_path: Path) -> None:
    folder = begin_study(small_study(tmp_path, seeds=(1,)), tmp_path / "s")
    run_study(folder, Here())
    before = (folder.home(folder.cells[0]) / "rounds.jsonl").read_bytes()
    assert run_study(folder, Here()) == []
    assert (folder.home(folder.cells[0]) / "rounds.jsonl").read_bytes() == before


def test_a_failing_cell_is_reported_and_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begin_study(small_study(tmp_path), tmp_path / "s")
    real = StudyFolder.task

    def broken(self: StudyFolder, cell: object) -> object:
        if cell == self.cells[0]:
            raise ValueError("the disk ate it")
        return real(self, cell)  # type: ignore[arg-type]

    monkeypatch.setattr(StudyFolder, "task", broken)
    outcomes = run_study(folder, Here())
    assert [bool(outcome.error) for outcome in outcomes] == [True, False]
    assert "ValueError: the disk ate it" in (folder.error(folder.cells[0]) or "")
    assert folder.complete(folder.cells[1])
    monkeypatch.setattr(StudyFolder, "task", real)
    assert [outcome.error for outcome in run_study(folder, Here())] == [None]


def test_invalid_study_is_refused_before_its_folder_exists(tmp_path: Path) -> None:
    study = small_study(tmp_path, overrides={"initial": 5000})
    with pytest.raises(UserError, match="too few for an initial pool of 5000"):
        begin_study(study, tmp_path / "s")
    assert not (tmp_path / "s").exists()


class Elsewhere:
    """Machines that have what this one has not."""

    def device(self, asked: str) -> str:
        return f"{asked}, far away"

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        return iter([])


def test_the_engine_is_asked_for_the_device_and_not_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    study = small_study(tmp_path, device="cuda")
    with pytest.raises(UserError, match="torch sees no such GPU here"):
        begin_study(study, tmp_path / "s")
    assert not (tmp_path / "s").exists()
    folder = begin_study(study, tmp_path / "s", Elsewhere())
    assert folder.about()["hardware"]["device"] == "cuda, far away"
    assert {cell.settings.device for cell in folder.cells} == {"cuda"}
