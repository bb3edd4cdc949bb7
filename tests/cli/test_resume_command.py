"""A run killed at any instant and resumed gives the results of an uninterrupted one."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hybridal import ActiveLearner
from hybridal.errors import RunError
from hybridal.runs import checkpoint
from hybridal.runs.record import RunFolder
from hybridal.system.journal import Journal
from hybridal.testing.small import toy_task

from .conftest import SMALL, SWITCHING, copied, hybridal
from .laboratory import Ended, Kill, Laboratory, Person, write_rows

KILLED = -signal.SIGKILL

INSTANTS = {
    "in the middle of round 2's training": Kill("hybridal.models.training.optimiser_steps.PlainSteps._step", 6),
    "before round 2's checkpoint": Kill("hybridal.runs.checkpoint.write", 2),
    "between the checkpoint's writing and its renaming": Kill("safetensors.torch.save_file", 2, "after"),
    "while the old checkpoint is still there": Kill("hybridal.runs.checkpoint.sync_folder", 2, "after"),
    "between checkpoint and record": Kill("hybridal.system.journal.Journal.append", 2),
    "half way through the first line": Kill("os.write", 1, "half"),
    "half way through a line": Kill("os.write", 2, "half"),
    "after the record": Kill("hybridal.system.journal.Journal.append", 2, "after"),
    "before the last round is recorded": Kill("hybridal.system.journal.Journal.append", 4),
    "half way through the model": Kill("hybridal.backbones.backbone.TextEncoder.save"),
    "before the report": Kill("hybridal.reports.run_report.write_report"),
}


def round_records(folder: Path) -> list[dict[str, Any]]:
    """The records in `rounds.jsonl`, without seconds."""
    lines = (folder / "rounds.jsonl").read_bytes().splitlines(keepends=True)
    assert all(line.endswith(b"\n") for line in lines)
    return [{**json.loads(line), "seconds": None} for line in lines]


def weights(folder: Path) -> bytes:
    return (folder / "model" / "model.safetensors").read_bytes()


def contents(folder: Path) -> Mapping[str, bytes]:
    """All files but the lock, which names the last process."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "run.lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def assert_same(folder: Path, unbroken: Path) -> None:
    assert round_records(folder) == round_records(unbroken)
    assert weights(folder) == weights(unbroken)
    assert (folder / "report.html").is_file()
    assert set(contents(folder)) == set(contents(unbroken)), "something was left behind"


def test_uninterrupted_run_has_all_records(unbroken: Path) -> None:
    assert [round_record["update_sequence"] for round_record in round_records(unbroken)] == ["R", "RR", "RRF", "RRFF"]
    assert len(weights(unbroken)) > 100_000


@pytest.mark.parametrize("instant", INSTANTS)
def test_run_killed_once_resumes_to_the_same_records(
    instant: str, laboratory: Laboratory, toy: tuple[str, ...], unbroken: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    arguments = ("run", *toy, *SMALL, *SWITCHING, "--out", folder)
    assert laboratory.run(*arguments, kill=INSTANTS[instant]).code == KILLED
    assert facts_whole(folder) < len(round_records(unbroken)) or not (folder / "report.html").exists()

    ended = laboratory.run("resume", folder)
    assert (ended.code, ended.stderr) == (0, "")
    assert_same(folder, unbroken)


def facts_whole(folder: Path) -> int:
    return len(Journal(folder / "rounds.jsonl").read())


def test_run_killed_repeatedly_resumes_to_the_same_records(
    laboratory: Laboratory, toy: tuple[str, ...], unbroken: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    first = Kill("hybridal.system.journal.Journal.append")
    assert laboratory.run("run", *toy, *SMALL, *SWITCHING, "--out", folder, kill=first).code == KILLED
    # A resumed run first records what lies in the checkpoint: each start comes one round further.
    for done in (1, 2, 3):
        assert laboratory.run("resume", folder, kill=Kill("hybridal.system.journal.Journal.append", 2)).code == KILLED
        assert facts_whole(folder) == done
    assert laboratory.run("resume", folder).code == 0
    assert_same(folder, unbroken)


def test_moments_and_snapshots_are_part_of_the_state(
    laboratory: Laboratory, toy: tuple[str, ...], tmp_path: Path
) -> None:
    """An optimiser that is carried over, and signals that remember arrays."""
    method = ("--schedule", "finetune", "--set", "moments=carry", "--signals", "loss,alpha,cka,weight-distance")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert laboratory.run("run", *toy, *SMALL, *method, "--out", whole).code == 0
    kill = Kill("hybridal.system.journal.Journal.append", 2, "after")
    assert laboratory.run("run", *toy, *SMALL, *method, "--out", broken, kill=kill).code == KILLED
    assert laboratory.run("resume", broken).code == 0
    assert_same(broken, whole)
    assert all(change is not None for change in round_records(broken)[2]["changes"].values())


def test_killed_before_the_folder_is_complete(laboratory: Laboratory, toy: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = ("run", *toy, *SMALL, "--out", folder)
    assert laboratory.run(*arguments, kill=Kill("hybridal.runs.record.write_about")).code == KILLED

    again = laboratory.run(*arguments)
    assert again.code == 2
    assert again.stderr == (
        f"hybridal: {folder} has a 'task' that belongs to no run; delete it, or choose another --out.\n"
    )
    assert laboratory.run("resume", folder).stderr == f"hybridal: {folder} is not a run folder: it has no run.json.\n"


@pytest.mark.parametrize(
    "kill", [Kill("hybridal.runs.checkpoint.write", 2), Kill("hybridal.backbones.backbone.TextEncoder.save")]
)
def test_a_recomputation_that_is_killed_spoils_nothing(
    kill: Kill, laboratory: Laboratory, unbroken: Path, tmp_path: Path
) -> None:
    folder = copied(unbroken, tmp_path / "run")
    assert laboratory.run("resume", folder, "--recompute", kill=kill).code == KILLED
    assert round_records(folder) == round_records(unbroken)
    assert laboratory.run("resume", folder).code == 0
    saved = checkpoint.load(folder / "checkpoint")
    assert saved is not None
    assert saved[0].round == 4
    assert laboratory.run("resume", folder, "--recompute").code == 0
    assert_same(folder, unbroken)


def test_a_model_that_is_half_deleted_is_not_taken_for_one(
    laboratory: Laboratory, unbroken: Path, tmp_path: Path
) -> None:
    folder = copied(unbroken, tmp_path / "run")
    assert laboratory.run("resume", folder, "--recompute", kill=Kill("os.unlink", 6, "after")).code == KILLED
    # Four old checkpoints went, and two files of the old model, under a hidden name: the new one is complete.
    assert weights(folder) == weights(unbroken)
    assert laboratory.run("resume", folder).code == 0
    assert weights(folder) == weights(unbroken)
    assert contents(folder / "model").keys() == contents(unbroken / "model").keys()


def test_a_finished_run_is_left_as_it_is(unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(unbroken, tmp_path / "run")
    before = contents(folder)

    def refuse(*_arguments: object) -> None:
        raise AssertionError("a model was built for nothing")

    monkeypatch.setattr("hybridal.runs.run.build_loop_model", refuse)
    ended = hybridal("resume", folder)
    assert ended.code == 0
    assert ended.stdout.startswith("Switch: accuracy changed by less than 0.9 in 1 round, up to round 2;")
    assert contents(folder) == before


def test_a_moved_folder_goes_on_without_its_source(laboratory: Laboratory, texts: Path, tmp_path: Path) -> None:
    source = copied(texts, tmp_path / "texts")
    names = [source / f"{name}.csv" for name in ("train", "validation", "test")]
    task = (names[0], "--label", "label", "--id", "id", "--validation", names[1], "--test", names[2])
    first = tmp_path / "first"
    kill = Kill("hybridal.system.journal.Journal.append", 2)
    assert laboratory.run("run", *task, *SMALL, *SWITCHING, "--out", first, kill=kill).code == KILLED
    shutil.rmtree(source)
    (tmp_path / "elsewhere").mkdir()
    moved = first.rename(tmp_path / "elsewhere" / "run")

    ended = laboratory.run("resume", moved, "--json")
    assert ended.code == 0
    assert json.loads(ended.stdout)["update_sequence"] == "RRFF"


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-100] ^= 0xFF
    file.write_bytes(data)


@pytest.fixture
def half(laboratory: Laboratory, toy: tuple[str, ...], half_done: Path, tmp_path: Path) -> Path:
    """A run of four rounds that was killed when it had recorded three."""
    return copied(half_done, tmp_path / "half")


@pytest.fixture(scope="module")
def half_done(laboratory: Laboratory, toy: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("half") / "run"
    kill = Kill("hybridal.system.journal.Journal.append", 3, "after")
    assert laboratory.run("run", *toy, *SMALL, *SWITCHING, "--out", folder, kill=kill).code == KILLED
    return folder


def test_a_damaged_checkpoint_is_healed_by_recomputing(laboratory: Laboratory, half: Path, unbroken: Path) -> None:
    file = half / "checkpoint" / "round-00003.safetensors"
    damage(file)
    recorded = (half / "rounds.jsonl").read_bytes()

    ended = laboratory.run("resume", half)
    assert ended.code == 3
    assert ended.stderr.startswith(f"hybridal: The checkpoint {file} is damaged (")
    assert "`hybridal resume --recompute`" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert (half / "rounds.jsonl").read_bytes() == recorded

    assert laboratory.run("resume", half, "--recompute").code == 0
    assert (half / "rounds.jsonl").read_bytes().startswith(recorded), "a recorded round was written again"
    assert_same(half, unbroken)


def test_a_checkpoint_that_is_gone_is_computed_again(laboratory: Laboratory, half: Path, unbroken: Path) -> None:
    shutil.rmtree(half / "checkpoint")
    assert laboratory.run("resume", half).code == 0
    assert_same(half, unbroken)


def test_rounds_beyond_the_checkpoint_are_computed_again_and_agree(
    laboratory: Laboratory, half: Path, unbroken: Path, tmp_path: Path
) -> None:
    """As after a restore of an older backup of the checkpoint."""
    shutil.copy(unbroken / "rounds.jsonl", half / "rounds.jsonl")
    assert laboratory.run("resume", half).code == 0
    assert_same(half, unbroken)
    assert (half / "rounds.jsonl").read_bytes() == (unbroken / "rounds.jsonl").read_bytes()


def test_lost_rounds_are_reported(laboratory: Laboratory, half: Path, unbroken: Path) -> None:
    lines = (half / "rounds.jsonl").read_bytes().splitlines(keepends=True)
    (half / "rounds.jsonl").write_bytes(lines[0])
    ended = laboratory.run("resume", half)
    assert ended.code == 3
    assert ended.stderr == (
        f"hybridal: {half / 'rounds.jsonl'} has 1 rounds, but the checkpoint is of round 3; "
        "restore the file, or run `hybridal resume --recompute`.\n"
    )
    assert laboratory.run("resume", half, "--recompute").code == 0
    assert_same(half, unbroken)


@pytest.mark.parametrize("left", [1, -1])
def test_a_last_line_that_is_cut_off_does_not_count(
    left: int, laboratory: Laboratory, half: Path, unbroken: Path
) -> None:
    """Whether a byte of it is there, or all but its line break."""
    *whole, last = (half / "rounds.jsonl").read_bytes().splitlines(keepends=True)
    (half / "rounds.jsonl").write_bytes(b"".join(whole) + last[:left])
    assert laboratory.run("resume", half).code == 0
    assert_same(half, unbroken)


def test_a_changed_record_is_noticed_and_the_checkpoint_kept(half: Path) -> None:
    lines = (half / "rounds.jsonl").read_text().splitlines(keepends=True)
    (half / "rounds.jsonl").write_text("".join([lines[0].replace('"labels": 12', '"labels": 13'), *lines[1:]]))
    before = contents(half)
    ended = hybridal("resume", half, "--recompute")
    assert ended.code == 3
    assert ended.stderr.startswith("hybridal: Round 1 differs from its record: ")
    assert contents(half) == before


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("safetensors.torch.save_file", "The checkpoint {}/checkpoint/round-00004.safetensors could not be written ("),
        ("os.write", "{}/rounds.jsonl could not be written ("),
        ("hybridal.models.classifier.Classifier.save", "The model {}/model could not be written ("),
        ("hybridal.reports.run_report.write_whole", "somewhere: "),
    ],
)
def test_a_full_disk(
    target: str,
    named: str,
    laboratory: Laboratory,
    half: Path,
    unbroken: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    recorded = (half / "rounds.jsonl").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(target, full)
        ended = hybridal("resume", half, "--quiet")
    assert ended.code == 3
    assert ended.stderr.startswith("hybridal: " + named.format(half))
    assert "No space left on device" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert (half / "rounds.jsonl").read_bytes().startswith(recorded)

    assert laboratory.run("resume", half).code == 0
    assert round_records(half)[:3] == round_records(unbroken)[:3]
    assert [round_record["update_sequence"] for round_record in round_records(half)] == ["R", "RR", "RRF", "RRFF"]
    assert contents(half).keys() == contents(unbroken).keys()


def begun_on_a_gpu(folder: Path) -> Path:
    """Change the records as if the run had begun on a GPU of another machine."""
    about = json.loads((folder / "run.json").read_text())
    about["settings"]["device"], about["hardware"]["device"] = "cuda", "NVIDIA H200"
    (folder / "run.json").write_text(json.dumps(about))
    return folder


def test_a_gpu_run_continues_without_one_and_reports_from_which_round(
    half: Path, unbroken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    begun_on_a_gpu(half)
    asked = (half / "run.json").read_bytes()
    ended = hybridal("resume", half)
    assert (ended.code, ended.stderr) == (
        2,
        "hybridal: --device cuda was asked for, but torch sees no such GPU here; use --device cpu.\n",
    )
    assert not (half / "places.jsonl").exists()

    ended = hybridal("resume", half, "--device", "cpu")
    assert ended.code == 0
    assert f"{half} continues on device cpu, after NVIDIA H200: " in ended.stdout
    assert round_records(half) == round_records(unbroken)
    (place,) = Journal(half / "places.jsonl").read()
    assert (place["rounds"], place["hardware"]["device"]) == (3, "cpu")
    assert (half / "run.json").read_bytes() == asked, "a tracker knows the run by it"
    assert hybridal("resume", half, "--device", "cpu", "--recompute").code == 0
    assert len(Journal(half / "places.jsonl").read()) == 1, "no new round was computed"


def test_a_second_process_is_sent_away(laboratory: Laboratory, half: Path, unbroken: Path) -> None:
    before = contents(half)
    with RunFolder(half).locked():
        ended = laboratory.run("resume", half)
    assert ended.code == 3
    assert ended.stderr == f"hybridal: {half} is in use by process {os.getpid()}; wait for it or stop it first.\n"
    assert contents(half) == before
    assert laboratory.run("resume", half).code == 0, "the lock outlived its holder"
    assert_same(half, unbroken)


def test_json_is_all_that_stdout_gets(laboratory: Laboratory, half: Path, unbroken: Path) -> None:
    ended = laboratory.run("resume", half, "--json")
    result = json.loads(ended.stdout)
    assert (result["folder"], result["schedule"], result["t_star"]) == (str(half), "hybrid:accuracy:0.9:1", 2)
    shown = [{**round_record, "seconds": None, "validation": None, "test": None} for round_record in result["rounds"]]
    assert shown == [{**round_record, "validation": None, "test": None} for round_record in round_records(unbroken)]


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    ended = hybridal("resume", tmp_path)
    assert (ended.code, ended.stderr) == (2, f"hybridal: {tmp_path} is not a run folder: it has no run.json.\n")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"settings": 3}'])
def test_a_damaged_run_json(content: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content)
    ended = hybridal("resume", tmp_path)
    assert ended.code == 3
    assert ended.stderr.startswith(f"hybridal: {tmp_path / 'run.json'} is damaged (")


@pytest.fixture
def unlabelled(tmp_path: Path) -> tuple[str, ...]:
    train = toy_task().train
    file = write_rows(tmp_path / "texts.csv", ["id", "text"], list(zip(train.ids, train.texts, strict=True)))
    return (str(file), "--id", "id", "--classes", "sport,food", "--validation-size", "10")


class TestByHand:
    """Labels that a person gives in a file."""

    ANSWERS = toy_task().answers(toy_task().train.ids)

    def run(self, laboratory: Laboratory, *arguments: object, log: Path, pace: int, killed_at: int = 0) -> Ended:
        return laboratory.run(*arguments, person=Person(self.ANSWERS, str(log), pace, killed_at))

    def test_no_label_is_asked_for_twice(
        self, laboratory: Laboratory, unlabelled: tuple[str, ...], tmp_path: Path
    ) -> None:
        whole, broken, log = tmp_path / "whole", tmp_path / "broken", tmp_path / "log"
        options = (*unlabelled, *SMALL, "--labels", tmp_path / "labels.csv")
        assert self.run(laboratory, "run", *options, "--out", whole, log=tmp_path / "other", pace=99).code == 0

        # 5 labels a pause: 10 of validation, 12 initial, 4 a round. Killed amid each of the first three requests.
        run = ("run", *options, "--out", broken)
        assert self.run(laboratory, *run, log=log, pace=5, killed_at=1).code == KILLED
        assert self.run(laboratory, "resume", broken, log=log, pace=5, killed_at=3).code == KILLED
        assert self.run(laboratory, "resume", broken, log=log, pace=3, killed_at=4).code == KILLED
        assert self.run(laboratory, "resume", broken, log=log, pace=5).code == 0

        assert round_records(broken) == round_records(whole)
        assert weights(broken) == weights(whole)
        asked = Counter(log.read_text().split())
        assert set(asked.values()) == {1}
        assert len(asked) == 10 + 12 + 3 * 4

    def test_recomputing_asks_for_nothing(
        self, laboratory: Laboratory, unlabelled: tuple[str, ...], tmp_path: Path
    ) -> None:
        folder, log = tmp_path / "run", tmp_path / "log"
        options = (*unlabelled, *SMALL, "--labels", tmp_path / "labels.csv", "--out", folder)
        assert self.run(laboratory, "run", *options, log=log, pace=99).code == 0
        before, asked = round_records(folder), log.read_text()
        damage(folder / "checkpoint" / "round-00004.safetensors")
        assert self.run(laboratory, "resume", folder, "--recompute", log=log, pace=99).code == 0
        assert round_records(folder) == before
        assert log.read_text() == asked

    def test_labels_may_lie_in_the_persons_own_file(
        self, laboratory: Laboratory, unlabelled: tuple[str, ...], tmp_path: Path
    ) -> None:
        labels = write_rows(tmp_path / "labels.csv", ["id", "label"], list(self.ANSWERS.items()))
        folder, log = tmp_path / "run", tmp_path / "log"
        ended = self.run(laboratory, "run", *unlabelled, *SMALL, "--labels", labels, "--out", folder, log=log, pace=1)
        assert ended.code == 0
        assert not log.exists()
        assert not (folder / "to_label.csv").exists()


def test_a_learner_is_not_simulated(tmp_path: Path) -> None:
    folder = ActiveLearner(toy_task(), backbone="tiny", device="cpu").save(tmp_path / "mine")
    before = contents(folder)
    for options in ((), ("--recompute",)):
        ended = hybridal("resume", folder, *options, "--quiet")
        assert (ended.code, ended.stdout) == (2, "")
        assert ended.stderr == (
            f"hybridal: {folder} was saved by an ActiveLearner, which is taught its labels; go on with "
            f"ActiveLearner.load('{folder}').\n"
        )
    assert contents(folder) == before


class TestComparison:
    def test_run_killed_once_resumes_to_the_same_records(
        self, laboratory: Laboratory, toy: tuple[str, ...], compared: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "comparison"
        schedules = "retrain,finetune,fixed:3,hybrid:accuracy:0.9:1"
        arguments = ("compare", *toy, *SMALL, "--schedules", schedules, "--out", folder)
        assert laboratory.run(*arguments, kill=Kill("os.write", 6, "half")).code == KILLED
        assert laboratory.run("resume", folder, kill=Kill("hybridal.runs.checkpoint.write", 1)).code == KILLED
        assert laboratory.run("resume", folder).code == 0
        assert round_records(folder) == round_records(compared)

    @pytest.mark.parametrize("command", [("resume",), ("compare", "--resume")])
    def test_run_resumes_on_another_device(
        self, command: tuple[str, ...], compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        folder = begun_on_a_gpu(copied(compared, tmp_path / "comparison"))
        lines = (folder / "rounds.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "rounds.jsonl").write_bytes(b"".join(lines[:-1]))
        assert hybridal(*command, folder).code == 2
        assert hybridal(*command, folder, "--device", "cpu", "--quiet").code == 0
        assert round_records(folder) == round_records(compared)
        (place,) = Journal(folder / "places.jsonl").read()
        assert (place["rounds"], place["hardware"]["device"]) == (len(lines) - 1, "cpu")

    def test_damaged_state_is_recomputed(self, compared: Path, tmp_path: Path) -> None:
        folder = copied(compared, tmp_path / "comparison")
        ended = hybridal("resume", folder, "--recompute")
        assert (ended.code, ended.stderr) == (
            2,
            "hybridal: --recompute is for runs: a comparison computes what is damaged again by itself.\n",
        )
        assert hybridal("resume", folder, "--json").code == 0
        assert round_records(folder) == round_records(compared)


def test_the_error_that_stops_a_run_is_a_run_error(half: Path) -> None:
    damage(half / "checkpoint" / "round-00003.safetensors")
    with pytest.raises(RunError):
        checkpoint.load(half / "checkpoint")
