from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hybridal.cli.main_app import app
from hybridal.testing.small import toy_task

from .laboratory import Ended, Laboratory, write_rows

SMALL = (
    *("--backbone", "tiny", "--protocol", "quick", "--device", "cpu"),
    *("--rounds", "4", "--initial", "12", "--batch", "4", "--set", "candidates=40", "--set", "max_epochs=2"),
    *("--set", "learning_rate=1e-3", "--set", "train_batch=8"),
)
"""A run of a second."""

BEST = (
    *("--backbone", "tiny", "--device", "cpu", "--rounds", "4", "--initial", "12", "--batch", "8"),
    *("--set", "candidates=40", "--set", "max_epochs=2", "--set", "min_steps=6", "--set", "min_finetune_steps=6"),
    *("--set", "learning_rate=1e-3", "--set", "probe_until=15", "--set", "validation_share=0.25"),
)
"""The defaults, protocol `best` and schedule `auto`, made small: a probe in round 1, a training in round 2."""

SWITCHING = ("--schedule", "hybrid:accuracy", "--epsilon", "0.9", "--patience", "1")
"""Accuracy never moves by 0.9, so t* is 2: the update sequence is RRFF."""


def hybridal(*arguments: object) -> Ended:
    """The command line in this process."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to))


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than a run, and has tests of its own."""
    monkeypatch.setattr("hybridal.reports.run_report.panels", lambda *_: [])


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy task as three CSV files."""
    folder, task = tmp_path_factory.mktemp("texts"), toy_task()
    for name, split in task.splits():
        labels = [task.classes[label] for label in split.labels]
        rows = list(zip(split.ids, split.texts, labels, strict=True))
        write_rows(folder / f"{name}.csv", ["id", "text", "label"], rows)
    return folder


@pytest.fixture(scope="session")
def toy(texts: Path) -> tuple[str, ...]:
    """The arguments that name the toy task."""
    held_out = ("--validation", str(texts / "validation.csv"), "--test", str(texts / "test.csv"))
    return (str(texts / "train.csv"), "--label", "label", "--id", "id", *held_out)


@pytest.fixture(scope="session")
def pool(texts: Path) -> tuple[str, ...]:
    """The arguments that name the toy task without a split to validate on."""
    return (str(texts / "train.csv"), "--label", "label", "--id", "id", "--test", str(texts / "test.csv"))


@pytest.fixture(scope="session")
def laboratory(toy: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    opened = Laboratory(tmp_path_factory.mktemp("laboratory"), ["run", *toy, *SMALL])
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def unbroken(laboratory: Laboratory, toy: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that nothing disturbed; not to be written to."""
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    ended = laboratory.run("run", *toy, *SMALL, *SWITCHING, "--out", folder)
    assert ended.code == 0, ended.stderr
    return folder


@pytest.fixture(scope="session")
def compared(laboratory: Laboratory, toy: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished comparison; not to be written to."""
    folder = tmp_path_factory.mktemp("compared") / "comparison"
    schedules = "retrain,finetune,fixed:3,hybrid:accuracy:0.9:1"
    ended = laboratory.run("compare", *toy, *SMALL, "--schedules", schedules, "--out", folder)
    assert ended.code == 0, ended.stderr
    return folder
