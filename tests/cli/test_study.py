from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from hybridal.cli.app import app
from hybridal.study.engines import Outcome
from hybridal.study.engines.here import Here
from hybridal.study.folder import StudyFolder
from hybridal.testing import toy_file

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
    code, said = call("plan", "main", "--json")
    assert code == 0
    found = json.loads(said)
    assert (found["runs"], found["cells"], found["rounds"]) == (810, 90, 810 * 25)
    assert "810 runs in 90 cells" in call("plan", "main")[1]


def test_from_a_file_to_a_report(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    code, said = call("run", file, *SMALL, "--out", out, "--workers", 1)
    assert code == 0, said
    assert "Study 'mine': 4 runs in 1 cells, 8 rounds." in said
    assert (out / "report.html").is_file()
    code, said = call("status", out, "--json")
    assert [row["state"] for row in json.loads(said)] == ["complete"]
    code, said = call("tune", out, "--json")
    assert code == 0
    assert json.loads(said)["accuracy"]["chosen"] in ([0.01, 1], [0.3, 1])
    assert "the choice holds for λ from" in call("tune", out)[1]
    before = (out / "report.html").read_bytes()
    assert call("report", out) == (0, f"{out / 'report.html'}\n")
    assert (out / "report.html").read_bytes() == before
    assert call("resume", out, "--workers", 1)[0] == 0


def test_a_failed_cell_shows_in_the_exit_code(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Here, folder: StudyFolder, cells: object) -> list[Outcome]:
        folder.write_error(folder.cells[0], "Traceback\nValueError: no luck\n")
        return [Outcome(folder.cells[0].key, "Traceback\nValueError: no luck\n")]

    monkeypatch.setattr(Here, "run", fail)
    code, said = call("run", file, *SMALL, "--out", tmp_path / "s", "--workers", 1)
    assert code == 1
    assert "failed: ValueError: no luck" in said
    assert "ValueError: no luck" in call("status", tmp_path / "s")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("plan", "mian"), "no study named 'mian'"),
        (("plan", "nowhere.yaml"), "no file nowhere.yaml"),
        (("plan", "main", "--seeds", "a,b"), "--seeds takes whole numbers"),
        (("status", "nowhere"), "is not a study folder"),
        (("report", "nowhere", "--against", "us"), "--against knows 'paper', not 'us'"),
        (("plan", "main", "--set", "rounds"), "--set takes FIELD=VALUE"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], says: str) -> None:
    code, said = call(*arguments)
    assert code == 2
    assert says in " ".join(said.split())
