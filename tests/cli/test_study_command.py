from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from hybridal.cli.main_app import app
from hybridal.lab.paper.figures import figures
from hybridal.lab.study.engines import CellOutcome, Here
from hybridal.lab.study.run_study_cells import begin_study, checked_tasks
from hybridal.lab.study.study import read_study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.system.journal import Journal
from hybridal.testing.small import toy_file

RULES = {"rounds": 3, "initial": 12, "batch": 4, "candidates": 30, "max_epochs": 2, "learning_rate": 1e-3}
SMALL = ("--seeds", "1", "--set", "rounds=2")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    task = {"task": str(toy_file(tmp_path)), "text": "body", "label": "kind", "validation_size": 20, "test_size": 12}
    study = {
        "tasks": [task],
        "schedules": ["retrain", "finetune", "hybrid:accuracy:0.01:1", "hybrid:accuracy:0.3:1"],
        "backbones": ["tiny"],
        "seeds": [1, 2],
        "protocol": "quick",
        "overrides": RULES,
        "device": "cpu",
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(study))
    return path


def call(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["study", *map(str, arguments)])
    return found.exit_code, found.output


def test_plan_says_what_a_study_takes() -> None:
    printed = CliRunner().invoke(app, ["study", "plan", "main", "--json"])
    assert printed.exit_code == 0
    assert "Backbone 'bert' is not on this machine yet" in printed.stderr
    found = json.loads(printed.stdout)
    assert (found["runs"], found["cells"], found["rounds"]) == (810, 90, 810 * 25)
    assert "810 runs in 90 cells" in call("plan", "main")[1]


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize(
    ("task", "says"),
    [
        ("nowhere.csv", "nowhere.csv: there is no such file"),
        ("trek", "There is no task 'trek'"),
        ({"label": "topic"}, "The setting 'task' is missing; name a task or a file."),
        ({"task": "mail.csv", "label": "topic"}, "name yours with `text`, `label` and `id`."),
    ],
)
def test_a_plan_is_shown_only_of_tasks_that_are_there(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, task: object, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mail.csv").write_text("body,kind\nHello,ham\n")
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "tasks": [task]}))
    code, output = call(verb, file)
    assert code == 2
    assert says in " ".join(output.split())
    assert "Study 'mine'" not in output


def test_plan_and_run_refuse_the_same_settings(file: Path) -> None:
    assert "4 runs in 1 cell" in call("plan", file, *SMALL)[1]
    code, output = call("plan", file, "--set", "initial=5000")
    assert code == 2
    assert "too few for an initial pool of 5000" in output


def test_from_a_file_to_a_report(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Several reports are written: the figures of the paper would take seconds each.
    monkeypatch.setattr("hybridal.lab.paper.figures.figures", lambda found: islice(figures(found), 0))
    out = tmp_path / "s"
    code, output = call("run", file, *SMALL, "--out", out, "--workers", 1)
    assert code == 0, output
    assert "Study 'mine': 4 runs in 1 cell, 8 rounds." in output
    assert (out / "report.html").is_file()
    assert (out / "report" / "figures" / "f1-by-schedule.svg").is_file()
    code, output = call("status", out, "--json")
    assert [row["state"] for row in json.loads(output)] == ["complete"]
    assert "All 4 runs are complete." in call("status", out)[1].splitlines()
    code, output = call("tune", out, "--json")
    assert code == 0
    assert json.loads(output)["accuracy"]["chosen"] in ([0.01, 1], [0.3, 1])
    assert "the choice holds for λ from" in call("tune", out)[1]
    before = (out / "report.html").read_bytes()
    assert call("report", out) == (0, f"{out / 'report.html'}\n")
    assert (out / "report.html").read_bytes() == before
    code, output = call("resume", out, "--workers", 1)
    assert code == 0
    assert "All runs are complete: " in output
    assert "minutes left" not in output


def test_a_failed_cell_shows_in_the_exit_code(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Here, folder: StudyFolder, cells: object) -> list[CellOutcome]:
        folder.write_error(folder.cells[0], "Traceback\nValueError: no luck\n")
        return [CellOutcome(folder.cells[0].key, "Traceback\nValueError: no luck\n")]

    monkeypatch.setattr(Here, "run", fail)
    code, output = call("run", file, *SMALL, "--out", tmp_path / "s", "--workers", 1)
    assert code == 3
    assert "failed: ValueError: no luck" in output
    assert "ValueError: no luck" in call("status", tmp_path / "s")[1]
    assert "0 of 4 runs are complete." in call("status", tmp_path / "s")[1].splitlines()


def test_status_shows_a_damaged_cell_and_the_others(file: Path, tmp_path: Path) -> None:
    folder = begin_study(read_study(file), tmp_path / "s")
    first, second = folder.cells
    folder.home(first).mkdir(parents=True)
    (folder.home(first) / "rounds.jsonl").write_text('{"round": 1}\n')
    code, told = call("status", folder.path)
    assert code == 0
    assert f"damaged      0 rounds  {first.key}" in told
    assert f"open         0 rounds  {second.key}" in told
    assert "rounds.jsonl is not a round" in told
    rows = json.loads(call("status", folder.path, "--json")[1])
    assert [row["state"] for row in rows] == ["damaged", "open"]


def test_errors_name_fields_as_the_study_file_does(file: Path, tmp_path: Path) -> None:
    study = yaml.safe_load(file.read_text())
    study["tasks"][0]["label"] = "topic"
    file.write_text(yaml.safe_dump(study))
    code, output = call("run", file, "--out", tmp_path / "s")
    assert code == 2
    assert "name yours with `text`, `label` and `id`." in output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--gpus-per-cell", 0.5), "--gpus-per-cell is for cells on a Ray cluster; give --ray ADDRESS too"),
        (("--ray", "local", "--workers", 2), "--workers counts cells at once here; leave it out with --ray"),
        (("--workers", 0), "--workers must be at least 1, not 0."),
        (("--processes-per-gpu", 0), "--processes-per-gpu must be at least 1, not 0."),
        (
            ("--processes-per-gpu", 2, "--device", "cpu"),
            "needs a GPU, and device cpu has none here",
        ),
        (("--processes-per-gpu", 2, "--ray", "local"), "with --ray, give --gpus-per-cell."),
        (("--ray", "ray://head:10001"), "--ray ray://head:10001: start the study on a machine of the cluster"),
    ],
)
def test_unusable_engine_leaves_no_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[object, ...], says: str
) -> None:
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    code, output = call("run", file, "--out", tmp_path / "s", *options)
    assert code == 2
    assert says in " ".join(output.split())
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_of_another_machine_s_gpu_is_refused_before_its_cells(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    folder = StudyFolder.create(tmp_path / "s", read_study(file).shrunk(device="cuda"), {})
    code, output = call("resume", folder.path, "--workers", workers)
    assert code == 2
    assert "cuda" in output
    assert not any(folder.error(cell) for cell in folder.cells)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_of_another_machine_s_gpu_goes_on_with_a_device_of_this_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setattr("hybridal.lab.write_study_report.write_study_report", lambda folder, catalogue: folder.path)
    study = read_study(file).shrunk(device="cuda", seeds=(1,), schedules=("retrain",), rounds=2)
    about = {"hardware": {"device": "NVIDIA H200"}}
    folder = StudyFolder.create(tmp_path / "s", study, about, checked_tasks(study))
    code, output = call("resume", folder.path, "--device", "cpu", "--workers", workers)
    assert code == 0, output
    assert f"{folder.path} continues on device cpu, after NVIDIA H200: " in output
    (cell,) = folder.cells
    assert folder.complete(cell)
    (place,) = Journal(folder.path / "places.jsonl").read()
    assert (place["rounds"], place["hardware"]["device"]) == ({cell.key: 0}, "cpu")
    assert call("resume", folder.path, "--device", "cpu", "--workers", workers, "--quiet") == (0, "")
    assert len(Journal(folder.path / "places.jsonl").read()) == 1


@pytest.mark.parametrize(
    ("option", "runs"),
    [
        (("--schedules", "retrain,auto,finetune"), "6 runs in 2 cells"),
        (("--acquisitions", "entropy,random,badge"), "24 runs in 6 cells"),
        (("--seeds", "1,2,3"), "12 runs in 3 cells"),
    ],
)
def test_any_factor_of_a_study_is_replaced_by_an_option(file: Path, option: tuple[str, str], runs: str) -> None:
    code, output = call("plan", file, *option)
    assert code == 0, output
    assert runs in output


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--backbones", "tiny,minillm"), "did you mean 'minilm'?"),
        (("--backbones", "./nowhere"), "Backbone './nowhere' is not a folder"),
        (("--set", "train_layers=99"), "`--set train_layers` is 99, but backbone 'tiny' has 2 layers"),
    ],
)
def test_a_backbone_that_cannot_work_is_refused_before_the_first_cell(
    file: Path, tmp_path: Path, verb: str, options: tuple[str, ...], says: str
) -> None:
    out = ("--out", tmp_path / "s") if verb == "run" else ()
    code, told = call(verb, file, *options, *out)
    assert code == 2
    assert says in " ".join(told.split())
    assert "Study 'mine'" not in told
    assert not (tmp_path / "s").exists()


def test_a_backbone_is_checked_although_the_tasks_are_not_here() -> None:
    code, told = call("plan", "main", "--tasks", "imdb", "--backbones", "minillm")
    assert code == 2
    assert "did you mean 'minilm'?" in " ".join(told.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("plan", "mian"), "no study named 'mian'"),
        (("plan", "nowhere.yaml"), "no file nowhere.yaml"),
        (("plan", "main", "--seeds", "a,b"), "--seeds takes whole numbers"),
        (("plan", "main", "--acquisitions", "entropi"), "no acquisition named 'entropi'"),
        (("status", "nowhere"), "is not a study folder"),
        (("report", "nowhere", "--against", "us"), "--against knows 'paper', not 'us'"),
        (("plan", "main", "--set", "rounds"), "--set takes FIELD=VALUE"),
    ],
)
def test_bad_input_gets_one_sentence(arguments: tuple[str, ...], says: str) -> None:
    code, output = call(*arguments)
    assert code == 2
    assert says in " ".join(output.split())
