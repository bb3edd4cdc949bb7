from __future__ import annotations

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.core.rounds import Round
from hybridal.errors import RunError, UserError
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.tasks import Task
from hybridal.tasks.store import load_saved, save_task
from hybridal.testing import fake_history
from hybridal.testing.small import toy_task


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    study = Study("s", ("imdb",), ("retrain", "finetune"), seeds=(1, 2), overrides={"rounds": 2})
    return StudyFolder.create(tmp_path / "study", study, {})


def records(sequence: str) -> list[Round]:
    updates = {"R": "retrain", "F": "finetune"}
    history = fake_history((), 0, len(sequence))
    return [
        replace(record, round=t, update_sequence=sequence[:t], update=updates[sequence[t - 1]])
        for t, record in enumerate(history, start=1)
    ]


def test_a_cell_is_complete_when_all_its_schedules_are(folder: StudyFolder) -> None:
    cell, other = folder.cells
    folder.home(cell).mkdir(parents=True)
    for record in records("RR"):
        folder.journal(cell).append(record.to_json())
    assert not folder.complete(cell)
    for record in records("FF"):
        folder.journal(cell).append(record.to_json())
    assert folder.complete(cell)
    assert not folder.complete(other)
    assert {spec: history[-1].update_sequence for spec, history in folder.histories(cell).items()} == {
        "retrain": "RR",
        "finetune": "FF",
    }


def test_an_error_counts_until_its_cell_is_complete(folder: StudyFolder) -> None:
    cell = folder.cells[0]
    folder.write_error(cell, "Traceback: it broke")
    assert folder.error(cell) == "Traceback: it broke"
    for record in records("RR") + records("FF"):
        folder.journal(cell).append(record.to_json())
    assert folder.error(cell) is None


def test_states_are_dropped_when_a_cell_is_complete_and_kept_before(folder: StudyFolder) -> None:
    cell = folder.cells[0]
    with folder.working_on(cell) as home:
        (home / "states").mkdir()
    assert (home / "states").exists()
    with folder.working_on(cell):
        for record in records("RR") + records("FF"):
            folder.journal(cell).append(record.to_json())
    assert not (home / "states").exists()


def test_one_process_at_a_time_works_on_a_cell(folder: StudyFolder) -> None:
    first, second = folder.cells
    with folder.working_on(first), folder.working_on(second), pytest.raises(RunError, match="in use by process"):
        folder.working_on(first).__enter__()


def test_study_json_is_written_after_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the creation is interrupted; the remains are not taken for another study's."""
    study = Study("s", ("imdb",), ("retrain",), seeds=(1,))
    tasks = {"one": toy_task(12, 4, 4), "two": toy_task(12, 4, 4, seed=1)}

    def full(task: Task, home: Path) -> None:
        if home.name == "two":
            raise OSError(errno.ENOSPC, "No space left on device")
        save_task(task, home)

    with monkeypatch.context() as patch:
        patch.setattr("hybridal.lab.study.study_folder.save_task", full)
        with pytest.raises(UserError, match=r"The study folder .*s could not be written \(No space left on device\)"):
            StudyFolder.create(tmp_path / "s", study, {}, tasks)
    assert not (tmp_path / "s" / "study.json").exists()
    with pytest.raises(UserError, match="s has a folder 'tasks' that belongs to no study; delete it, or choose"):
        StudyFolder.create(tmp_path / "s", study, {}, tasks)
    shutil.rmtree(tmp_path / "s" / "tasks")
    folder = StudyFolder.create(tmp_path / "s", study, {}, tasks)
    assert {load_saved(folder.task_home(key)).fingerprint for key in tasks} == {t.fingerprint for t in tasks.values()}


def test_of_two_that_begin_at_the_same_moment_the_first_has_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (
        Study(name, ("imdb",), ("retrain",), acquisitions=("random",), seeds=(1,)) for name in ("one", "other")
    )

    def meanwhile(task: Task, home: Path) -> None:
        with pytest.raises(RunError, match="s is in use by process"):
            StudyFolder.create(tmp_path / "s", other, {})
        save_task(task, home)

    monkeypatch.setattr("hybridal.lab.study.study_folder.save_task", meanwhile)
    StudyFolder.create(tmp_path / "s", one, {}, {"some": toy_task(12, 4, 4)})
    assert StudyFolder.open(tmp_path / "s").study == one


def test_study_folder_reopens_and_is_not_created_twice(folder: StudyFolder) -> None:
    again = StudyFolder.open(folder.path)
    assert [cell.key for cell in again.cells] == [cell.key for cell in folder.cells]
    with pytest.raises(UserError, match="holds a study already"):
        StudyFolder.create(folder.path, folder.study, {})
    with pytest.raises(UserError, match="is not a study folder"):
        StudyFolder.open(folder.path.parent)


def test_cells_with_the_same_texts_share_them(folder: StudyFolder) -> None:
    one, two = folder.cells
    assert task_key(one.settings) == task_key(two.settings)
    by_seed = replace(one.settings, protocol="reference")
    assert task_key(by_seed) != task_key(replace(two.settings, protocol="reference"))
    save_task(toy_task(), folder.task_home(task_key(one.settings)))
    assert folder.task(one).fingerprint == folder.task(two).fingerprint == toy_task().fingerprint


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"study": 3}', "\0"])
def test_a_damaged_study_json_is_named(folder: StudyFolder, damage: str) -> None:
    (folder.path / "study.json").write_text(damage)
    with pytest.raises(RunError, match=r"study\.json is damaged \(.*\); restore it from a backup"):
        StudyFolder.open(folder.path)


def test_a_study_of_an_unpublished_version_is_refused_in_one_sentence(folder: StudyFolder) -> None:
    file = folder.path / "study.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    saved["study"]["overrides"] = {"looks": 3}
    file.write_text(json.dumps({name: value for name, value in saved.items() if name != "format"}), encoding="utf-8")
    with pytest.raises(UserError, match="was written by an unpublished version of hybridal; start a new study"):
        StudyFolder.open(folder.path)
