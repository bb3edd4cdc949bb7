from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hybridal.core.rounds import Chosen
from hybridal.core.rules import protocol
from hybridal.errors import RunError, UserError
from hybridal.runs.about_file import FORMAT
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.tasks import Task
from hybridal.tasks.store import save_task
from hybridal.testing.schedule import fake_history
from hybridal.testing.small import toy_task

TASK = toy_task(20, 6, 4)
SETTINGS = Settings("toy", protocol="reference", overrides={"rounds": 3}, acquisition="badge", signals=("alpha",))

HOLDER = """
import sys
from pathlib import Path
from hybridal.runs.record import RunFolder
with RunFolder.open(Path(sys.argv[1])).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "some" / "run", SETTINGS, TASK, {"hardware": {"cores": 2}})


def test_run_json_records_settings_task_and_hardware(folder: RunFolder) -> None:
    saved = json.loads((folder.path / "run.json").read_text(encoding="utf-8"))
    assert saved == {"format": FORMAT, **folder.about()}
    assert saved["protocol"] == protocol("reference", {"rounds": 3}).to_json()
    assert saved["task"] == {"name": "toy", "classes": list(TASK.classes), "texts": 20, "fingerprint": TASK.fingerprint}
    assert saved["hardware"] == {"cores": 2}
    assert folder.settings() == SETTINGS
    assert folder.task().fingerprint == TASK.fingerprint
    assert folder.history() == []


def test_facts_are_appended(folder: RunFolder) -> None:
    history = fake_history((), seed=1, rounds=3)
    for round_record in history:
        folder.append(round_record)
    assert folder.history() == history
    assert RunFolder.open(folder.path).history() == history


def test_later_choice_gets_its_own_line(folder: RunFolder) -> None:
    first, second = fake_history((), seed=1, rounds=2)
    folder.append(first)
    for ids in (("a",), ("b", "c")):
        folder.append(Chosen(1, ids, (0.5,) * len(ids), seconds={"score": 1.0}))
    folder.append(second)
    assert [round_record.acquired for round_record in folder.history()] == [("b", "c"), second.acquired]
    assert folder.history()[0].seconds == {**first.seconds, "score": 1.0}
    folder.append(Chosen(3))
    with pytest.raises(RunError, match=r"Line 5 of .*rounds\.jsonl is not a round"):
        folder.history()


@pytest.mark.parametrize("lost", ["cost", "update_sequence"])
def test_a_line_that_lacks_a_fact_is_named(folder: RunFolder, lost: str) -> None:
    first, second = fake_history((), seed=1, rounds=2)
    folder.append(first)
    folder.rounds.append({name: value for name, value in second.to_json().items() if name != lost})
    with pytest.raises(RunError, match=rf"Line 2 of .*rounds\.jsonl is not a round \(.*{lost}.*restore the file"):
        folder.history()


def test_a_moved_folder_opens(folder: RunFolder, tmp_path: Path) -> None:
    round_record = fake_history((), seed=1, rounds=1)[0]
    folder.append(round_record)
    shutil.move(folder.path, tmp_path / "elsewhere")
    moved = RunFolder.open(tmp_path / "elsewhere")
    assert moved.settings() == SETTINGS
    assert moved.task().fingerprint == TASK.fingerprint
    assert moved.history() == [round_record]
    with moved.locked():
        moved.append(round_record)
    assert len(moved.history()) == 2


def test_a_folder_that_holds_a_run_is_left_as_it_is(folder: RunFolder) -> None:
    before = (folder.path / "run.json").read_bytes()
    with pytest.raises(UserError, match=r"run holds a run already; go on with `hybridal resume .*run`, or choose"):
        RunFolder.create(folder.path, Settings("other"), toy_task(30), {})
    assert (folder.path / "run.json").read_bytes() == before
    assert folder.task().fingerprint == TASK.fingerprint


def test_texts_of_a_creation_that_was_cut_off_are_not_taken_for_others(folder: RunFolder) -> None:
    (folder.path / "run.json").unlink()  # as if the process had ended between the texts and run.json
    with pytest.raises(UserError, match=f"{folder.path} has a 'task' that belongs to no run; delete it"):
        RunFolder.create(folder.path, SETTINGS, toy_task(30, seed=9), {})
    assert not (folder.path / "run.json").exists()


class TestAtTheSameMoment:
    """Of two concurrent creations the first gets the folder, and all its files are from one of them."""

    def test_creation_during_another_creation_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def meanwhile(task: Task, folder: Path) -> None:
            with pytest.raises(RunError, match="run is in use by process"):
                RunFolder.create(tmp_path / "run", Settings("other"), toy_task(30), {})
            save_task(task, folder)

        monkeypatch.setattr("hybridal.runs.record.save_task", meanwhile)
        assert RunFolder.create(tmp_path / "run", SETTINGS, TASK, {}).settings() == SETTINGS

    def test_creation_after_another_creation_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        locked = RunFolder.locked

        def late(folder: RunFolder) -> AbstractContextManager[None]:
            monkeypatch.setattr(RunFolder, "locked", locked)
            RunFolder.create(tmp_path / "run", SETTINGS, TASK, {})
            return locked(folder)

        monkeypatch.setattr(RunFolder, "locked", late)
        with pytest.raises(UserError, match="run holds a run already"):
            RunFolder.create(tmp_path / "run", Settings("other"), toy_task(30), {})
        assert RunFolder.open(tmp_path / "run").settings() == SETTINGS


def test_a_path_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match=f"The run folder {path} could not be written"):
            RunFolder.create(path, SETTINGS, TASK, {})


def test_other_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(UserError, match=f"{path} is not a run folder"):
            RunFolder.open(path)
    (tmp_path / "study.json").touch()
    with pytest.raises(UserError, match="is not a run folder: it is a study, for `hybridal study`"):
        RunFolder.open(tmp_path)


def test_a_run_keeps_the_rules_that_it_began_with(tmp_path: Path) -> None:
    """Even if the protocol of that name has changed since, or has new settings."""
    folder = RunFolder.create(tmp_path / "run", Settings("toy", overrides={"rounds": 3}), TASK, {})
    saved = json.loads((folder.path / "run.json").read_text(encoding="utf-8"))
    del saved["protocol"]["use_class_descriptions"]
    saved["protocol"]["min_steps"] = 7
    (folder.path / "run.json").write_text(json.dumps(saved), encoding="utf-8")
    rules = folder.settings().rules
    assert (rules.use_class_descriptions, rules.min_steps, rules.rounds) == (False, 7, 3)
    assert protocol("best").use_class_descriptions


@pytest.mark.parametrize(("name", "acquisition"), [("best", "margin"), ("paper", "entropy")])
def test_run_json_records_the_default_acquisition(tmp_path: Path, name: str, acquisition: str) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("toy", protocol=name), TASK, {})
    assert folder.about()["settings"]["acquisition"] == acquisition
    assert folder.settings().acquisition == acquisition


def test_run_keeps_its_recorded_acquisition_and_minimum_steps(tmp_path: Path) -> None:
    """Like a folder from before margin and the minimum of fine-tuning steps were defaults."""
    folder = RunFolder.create(tmp_path / "run", Settings("toy"), TASK, {})
    saved = json.loads((folder.path / "run.json").read_text(encoding="utf-8"))
    saved["settings"]["acquisition"] = "entropy"
    del saved["protocol"]["min_finetune_steps"]
    (folder.path / "run.json").write_text(json.dumps(saved), encoding="utf-8")
    settings = folder.settings()
    assert (settings.protocol, settings.acquisition_spec, settings.rules.min_finetune_steps) == ("best", "entropy", 0)
    assert settings.rules.epochs(21, asked=3) == 3


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b"[]", b"{}", b'{"settings": 3}', b'{"settings": {}}'])
def test_a_damaged_run_json_is_named(folder: RunFolder, damage: bytes) -> None:
    (folder.path / "run.json").write_bytes(damage)
    with pytest.raises(UserError, match=r"run.json is damaged"):
        folder.settings()


def test_texts_that_are_gone_are_named(folder: RunFolder) -> None:
    (folder.path / "task" / "test.parquet").unlink()
    with pytest.raises(UserError, match=f"The texts in {folder.path / 'task'} cannot be read"):
        RunFolder(folder.path).task()


@pytest.fixture
def holder(folder: RunFolder) -> Iterator[subprocess.Popen[str]]:
    """Another process that works on the run."""
    command = [sys.executable, "-c", HOLDER, str(folder.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        if process.poll() is None:
            process.kill()


def test_two_processes_cannot_work_on_one_run(folder: RunFolder, holder: subprocess.Popen[str]) -> None:
    with (
        pytest.raises(RunError, match=rf"run is in use by process {holder.pid}; wait for it or stop it first"),
        folder.locked(),
    ):
        pass
    # Looking is allowed meanwhile, and asking twice does not blur who the owner is.
    assert folder.history() == []
    with pytest.raises(RunError, match=f"process {holder.pid};"), folder.locked():
        pass


@pytest.mark.parametrize("violent", [False, True])
def test_the_lock_ends_with_its_process(folder: RunFolder, holder: subprocess.Popen[str], violent: bool) -> None:
    if violent:
        holder.kill()
        holder.wait(30)
    else:
        holder.communicate("", 30)
    with folder.locked():
        assert (folder.path / "run.lock").read_text() == str(os.getpid())


def test_the_lock_ends_with_its_block(folder: RunFolder) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), folder.locked():
            raise ZeroDivisionError
    with folder.locked(), pytest.raises(RunError, match=f"process {os.getpid()};"), folder.locked():
        pass


@pytest.mark.parametrize("left", ["rounds.jsonl", "checkpoint"])
def test_stray_files_are_not_adopted(tmp_path: Path, left: str) -> None:
    (tmp_path / left).mkdir()
    with pytest.raises(UserError, match=f"has a '{left}' that belongs to no run"):
        RunFolder.create(tmp_path, Settings("toy"), toy_task(), {})


def test_other_texts_are_not_taken_for_the_runs_own(folder: RunFolder) -> None:
    shutil.rmtree(folder.path / "task")
    save_task(toy_task(seed=9), folder.path / "task")
    with pytest.raises(RunError, match=r"are not those of run\.json"):
        RunFolder(folder.path).task()


def test_a_folder_of_an_unpublished_version_is_refused_in_one_sentence(folder: RunFolder) -> None:
    file = folder.path / "run.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    saved["settings"]["overrides"] = {"brief_steps": 3}
    saved["protocol"]["names"] = saved["protocol"].pop("use_class_descriptions")
    file.write_text(json.dumps({name: value for name, value in saved.items() if name != "format"}), encoding="utf-8")
    folder.rounds.append({"round": 1, "word": "R", "news": None})
    sentence = f"{folder.path} was written by an unpublished version of hybridal; start a new run."
    opened = RunFolder(folder.path)
    for read in (opened.about, opened.settings, opened.task, lambda: RunFolder.open(folder.path)):
        with pytest.raises(UserError, match=f"^{re.escape(sentence)}$"):
            read()


def test_a_folder_of_a_newer_version_is_refused(folder: RunFolder) -> None:
    file = folder.path / "run.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(saved | {"format": FORMAT + 1}), encoding="utf-8")
    with pytest.raises(UserError, match=rf"newer version of hybridal \(format {FORMAT + 1}\); update hybridal"):
        folder.about()
