from __future__ import annotations

from pathlib import Path

import torch

from hybridal.lab.study.engines import Here
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.system.thread_count import one_thread

from .engine_studies import begun, recorded_rounds, rounds, run, small_study


def test_every_round_is_there_once(here: StudyFolder) -> None:
    words = {"R", "RR", "RRR", "RRRR", "F", "FF", "FFF", "FFFF", "RRF", "RRFF"}
    assert all(set(found) == words for found in recorded_rounds(here).values())
    assert all(here.complete(cell) for cell in here.cells)
    assert not any((here.home(cell) / "states").exists() for cell in here.cells)


def test_a_complete_study_is_not_computed_again(here: StudyFolder) -> None:
    assert run(here, Here()) == {}


def test_facts_do_not_depend_on_the_number_of_threads(task: dict[str, str], here: StudyFolder, tmp_path: Path) -> None:
    """Two threads do add up in another order: without `one_thread` this fails on a machine of two cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(3 - min(before, 2))
    try:
        folder = begun(tmp_path / "study", small_study(task, seeds=(1,)))
        run(folder, Here())
    finally:
        torch.set_num_threads(before)
    assert recorded_rounds(folder).items() <= recorded_rounds(here).items()


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_a_cell_that_fails_is_reported_and_the_others_finish(task: dict[str, str], tmp_path: Path) -> None:
    study = small_study(task, acquisitions=("no-such-thing", "entropy"), seeds=(1,), schedules=("retrain",))
    folder = begun(tmp_path / "study", study)
    broken, sound = folder.cells
    outcomes = run(folder, Here())
    error = outcomes[broken.key].error
    assert error is not None
    assert "Traceback" in error
    assert "no-such-thing" in error
    assert folder.error(broken) == error
    assert outcomes[sound.key].error is None
    assert folder.complete(sound)


def test_a_cell_in_use_is_left_alone(task: dict[str, str], tmp_path: Path) -> None:
    folder = begun(tmp_path / "study", small_study(task, seeds=(1,), schedules=("retrain",)))
    (cell,) = folder.cells
    with folder.working_on(cell):
        (outcome,) = run(folder, Here()).values()
    assert outcome.error is not None
    assert "is in use by process" in outcome.error
    assert folder.error(cell) is None, "the process that computes it has not failed"
    assert rounds(folder, cell) == 0
