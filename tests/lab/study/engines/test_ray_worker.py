from __future__ import annotations

import os
from pathlib import Path

import pytest

from hybridal.errors import RunError
from hybridal.lab.study.engines.ray_worker import JournalWriter, check_alike, versions
from hybridal.lab.study.study_folder import StudyFolder

from .engine_studies import begun, rounds, small_study


@pytest.fixture
def folder(task: dict[str, str], tmp_path: Path) -> StudyFolder:
    return begun(tmp_path / "study", small_study(task))


def test_update_sequence_is_recorded_once(folder: StudyFolder, here: StudyFolder) -> None:
    first, second = folder.cells
    line, *_ = here.journal(first).read()
    recorder = JournalWriter(folder.path, [first.key, second.key])
    recorder.append(first.key, line)
    recorder.append(first.key, {**line, "seconds": {}})
    assert recorder.known(first.key) == [line]
    assert recorder.known(second.key) == []
    recorder.close()
    again = JournalWriter(folder.path, [first.key])
    again.append(first.key, line)
    assert again.known(first.key) == [line]
    again.close()


def test_a_worker_that_comes_back_too_late_is_refused(folder: StudyFolder, here: StudyFolder) -> None:
    cell, other = folder.cells
    line, *_ = here.journal(cell).read()
    recorder = JournalWriter(folder.path, [cell.key, other.key])
    recorder.release(cell.key)
    with pytest.raises(RunError, match="is no longer computed here"):
        recorder.append(cell.key, line)
    assert rounds(folder, cell) == 0
    recorder.append(other.key, line)
    recorder.close()


def test_two_recorders_never_hold_one_cell(folder: StudyFolder) -> None:
    first, second = folder.cells
    recorder = JournalWriter(folder.path, [second.key])
    refused = JournalWriter(folder.path, [first.key, second.key], timeout=0)
    message = f"{folder.home(second)} is in use by process {os.getpid()}; wait for it or stop it first."
    assert (recorder.refusal(), refused.refusal()) == (None, message)
    with pytest.raises(RunError, match="in use"):
        refused.known(first.key)
    recorder.close()
    third = JournalWriter(folder.path, [first.key, second.key], timeout=0)
    assert third.refusal() is None
    third.close()


def test_states_of_other_engines_go_with_a_complete_cell(here: StudyFolder) -> None:
    cell = here.cells[0]
    (here.home(cell) / "states").mkdir()
    recorder = JournalWriter(here.path, [cell.key])
    recorder.release(cell.key)
    assert not (here.home(cell) / "states").exists()


def test_versions_must_agree() -> None:
    check_alike(versions())
    with pytest.raises(RunError, match=r"has torch .* and the driver has 1\.0; install the same"):
        check_alike({**versions(), "torch": "1.0"})
