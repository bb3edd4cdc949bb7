"""Runs of tasks in which a text may have several labels, or none."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hybridal.core.observer import Observer
from hybridal.core.rounds import Round
from hybridal.runs import run
from hybridal.runs.export import finished_pool, labels_csv
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.tasks.answers import Answer
from hybridal.tasks.from_files import load_files
from hybridal.testing.small import multi_label_task

CLASSES = ("sport", "food", "space")
TASK = multi_label_task()
ANSWERS = {id: answer for id, answer in TASK.answers(TASK.train.ids).items() if isinstance(answer, frozenset)}


class Stop(Observer):
    """Ends the process after a round, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self.after = after

    def round_done(self, history: Sequence[Round]) -> None:
        if len(history) == self.after:
            raise KeyboardInterrupt


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *zip(TASK.train.ids, TASK.train.texts, strict=True)])
    return Settings(
        task=str(tmp_path / "texts.csv"),
        id="id",
        classes=CLASSES,
        multi_label=True,
        label_separator="|",
        validation_size=10,
        backbone="tiny",
        protocol="quick",
        overrides={"rounds": 3, "initial": 8, "batch": 4, "max_epochs": 2},
        acquisition="random",
        device="cpu",
        labels=str(tmp_path / "mine.csv"),
    )


def people(folder: RunFolder, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the run pauses, write sets with a separator, and [] for none of the classes."""

    def pause(_seconds: float) -> None:
        with (folder.path / "to_label.csv").open(newline="") as file:
            asked = [row["id"] for row in csv.DictReader(file)]
        with mine.open("w", newline="") as file:
            cells = {id: " | ".join(sorted(ANSWERS[id])) or "[]" for id in asked}
            csv.writer(file).writerows([("id", "label"), *cells.items()])

    monkeypatch.setattr("hybridal.annotators.labels_file.time", SimpleNamespace(sleep=pause))


def labels_of(folder: RunFolder) -> dict[str, Answer]:
    task, pool = folder.task(), finished_pool(folder)
    return {task.train.ids[row]: task.answer(pool.labels[row]) for row in pool.order}


@pytest.mark.parametrize("after", [1, 2])
def test_a_killed_run_with_new_label_sets_resumes_to_the_same_rounds(
    after: int, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories, labels = [], []
    for name in ("whole", "killed"):
        folder = run.begin(settings, tmp_path / name)
        people(folder, tmp_path / "mine.csv", monkeypatch)
        if name == "killed":
            with pytest.raises(KeyboardInterrupt):
                run.resume_run(folder, Stop(after))
            folder = RunFolder.open(folder.path)
        histories.append([replace(record, seconds={}) for record in run.resume_run(folder)])
        labels.append(labels_of(RunFolder.open(folder.path)))
    assert histories[0] == histories[1]
    assert [*labels[0].items()] == [*labels[1].items()]
    assert labels[0] == {id: ANSWERS[id] for id in labels[0]}
    assert len(labels[0]) == 16
    kept = json.loads((folder.path / "validation.json").read_text())
    assert kept == {id: sorted(ANSWERS[id]) for id in kept}
    validation = histories[0][-1].validation
    assert validation is not None
    assert sum(validation.support) == sum(len(ANSWERS[id]) for id in kept)

    again = run.resume_run(RunFolder.open(folder.path), recompute=True)
    assert [replace(record, seconds={}) for record in again] == histories[0]


def test_exported_labels_are_read_back_exactly(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run.begin(settings, tmp_path / "run")
    people(folder, tmp_path / "mine.csv", monkeypatch)
    run.resume_run(folder)
    (tmp_path / "labels.csv").write_text(labels_csv(folder.task(), finished_pool(folder)), encoding="utf-8", newline="")
    read = load_files(tmp_path / "labels.csv", label="label", id="id", validation_size=0, test_size=0)
    assert read.multi_label
    assert read.answers(read.train.ids) == labels_of(folder)
    assert frozenset() in labels_of(folder).values()


def test_a_simulated_run_of_a_file_with_several_labels(settings: Settings, tmp_path: Path) -> None:
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        rows = [
            (text, " | ".join(sorted(ANSWERS[id])) or "[]")
            for id, text in zip(TASK.train.ids, TASK.train.texts, strict=True)
        ]
        csv.writer(file).writerows([("text", "label"), *rows])
    asked = replace(settings, label="label", multi_label=None, id=None, labels=None, classes=None)
    folder = run.begin(asked, tmp_path / "run")
    history = run.resume_run(folder)
    assert folder.task().multi_label
    assert {"macro_f1", "micro_f1", "exact_match"} <= history[-1].to_json()["test"].keys()
