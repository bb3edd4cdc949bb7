"""A trainer killed at any instant and started again gives the results of an uninterrupted one."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from hybridal.app.db.schema import Annotation, Consensus, Prediction, QueuedText
from hybridal.app.insight.project_progress import progress
from hybridal.app.project import Project, chapter_folders
from hybridal.app.trainer.supervisor import Supervisor

from ...helpers.waiting import wait_until
from ..copies import copied
from .laboratory import Laboratory
from .projects import ask, label_some, made, row, scoring

KILLED = -signal.SIGKILL

INSTANTS = {
    "in the middle of training": ("hybridal.app.trainer.publish.Status.progress", "before"),
    "before the checkpoint": ("hybridal.runs.checkpoint.save", "before"),
    "between checkpoint and record": ("hybridal.system.journal.Journal.append", "before"),
    "between record and queue": ("hybridal.app.trainer.cycle.publish", "before"),
    "with half of the queue written": ("hybridal.app.trainer.publish.clear_request", "before"),
    "after the queue": ("hybridal.app.trainer.cycle.publish", "after"),
}


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    laboratory = Laboratory()
    yield laboratory
    laboratory.close()


@pytest.fixture(scope="module")
def due(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project after one round, with the labels of the next."""
    project = made(tmp_path_factory.mktemp("due") / "toys.hybridal")
    label_some(project, 6, 6)
    assert laboratory.train(project.folder) == KILLED
    assert row(project).round == 1
    label_some(project, 6, 1)
    project.close()
    return project.folder


@pytest.fixture(scope="module")
def unbroken(laboratory: Laboratory, due: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = shutil.copytree(due, tmp_path_factory.mktemp("unbroken") / "toys.hybridal")
    assert laboratory.train(folder) == KILLED
    return standing(folder)


def standing(folder: Path) -> dict[str, Any]:
    """Everything that a round writes, without seconds."""
    project = Project.open(folder)
    records = [
        {**json.loads(line), "seconds": None}
        for run in chapter_folders(project.runs)
        for line in (run / "rounds.jsonl").read_text().splitlines()
    ]
    with project.reads() as session:
        found = {
            "records": records,
            "annotations": session.scalar(select(func.count()).select_from(Annotation)),
            "consensus": session.execute(select(Consensus.text_row, Consensus.class_number)).all(),
            "queue": session.execute(
                select(QueuedText.text_row, QueuedText.rank, QueuedText.round).order_by(QueuedText.rank)
            ).all(),
            "predictions": session.execute(
                select(Prediction.text_row, Prediction.class_number, Prediction.round)
            ).all(),
            "left": sorted(path.name for path in project.runs.rglob(".*")),
        }
    status = row(project)
    project.close()
    return {**found, "status": (status.phase, status.round, status.error)}


def test_the_unbroken_trainer_has_all_that_the_others_are_measured_by(unbroken: dict[str, Any]) -> None:
    assert [record["update_sequence"] for record in unbroken["records"]] == ["R", "RR"]
    assert [record["labels"] for record in unbroken["records"]] == [6, 12]
    assert [record["cost"]["steps"] > 0 for record in unbroken["records"]] == [False, True], "nothing to be killed in"
    assert (unbroken["annotations"], len(unbroken["consensus"])) == (19, 19)
    assert (len(unbroken["queue"]), unbroken["status"], unbroken["left"]) == (24, ("waiting", 2, ""), [])


@pytest.mark.parametrize("instant", INSTANTS)
def test_trainer_killed_at_any_instant_resumes_to_the_same_state(
    instant: str, laboratory: Laboratory, due: Path, unbroken: dict[str, Any], tmp_path: Path
) -> None:
    folder = shutil.copytree(due, tmp_path / "toys.hybridal")
    assert laboratory.train(folder, *INSTANTS[instant]) == KILLED
    between = standing(folder)
    assert (between["annotations"], between["consensus"]) == (unbroken["annotations"], unbroken["consensus"])
    assert len({round for *_, round in between["queue"]}) == 1, "half a queue is served"

    assert laboratory.train(folder) == KILLED
    assert standing(folder) == unbroken


@pytest.mark.parametrize("instant", ["in the middle of training", "between record and queue"])
def test_killed_in_the_last_round_it_is_finished_once(
    instant: str, laboratory: Laboratory, due: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(due, tmp_path / "toys.hybridal")
    project = Project.open(folder)
    ask(project, "finish")
    assert laboratory.train(folder, *INSTANTS[instant]) == KILLED
    assert row(project).request == "finish"
    assert laboratory.train(folder) == KILLED
    assert (row(project).request, progress(project)["finish"]["finished"]) == ("", True)
    project.close()
    after = standing(folder)
    assert [(record["labels"], record["label_changes"]["last"]) for record in after["records"]] == [
        (6, False),
        (12, True),
    ]
    assert (len(after["queue"]), after["status"]) == (24, ("waiting", 2, ""))


def test_killed_while_the_first_chapter_is_written(laboratory: Laboratory, tmp_path: Path) -> None:
    project = copied(made, tmp_path / "toys.hybridal")
    label_some(project, 6, 6)
    project.close()
    assert laboratory.train(project.folder, "hybridal.app.trainer.chapter.ModelSpec.write") == KILLED
    assert standing(project.folder)["left"] != []
    assert laboratory.train(project.folder) == KILLED
    after = standing(project.folder)
    assert ([record["update_sequence"] for record in after["records"]], after["left"]) == (["R"], [])


def test_a_supervised_trainer_goes_on_where_a_killed_one_was(
    laboratory: Laboratory, due: Path, unbroken: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    folder = shutil.copytree(due, tmp_path / "toys.hybridal")
    assert laboratory.train(folder, *INSTANTS["in the middle of training"]) == KILLED
    project = Project.open(folder)
    assert row(project).phase == "training"
    supervisor = Supervisor(project)
    supervisor.start()
    try:
        wait_until(lambda: supervisor.alive, seconds=120)
        first = supervisor.child
        assert first is not None
        first.kill()  # before it has loaded anything, which takes longest
        wait_until(lambda: "killed" in row(project).error, seconds=120)
        wait_until(lambda: supervisor.alive and supervisor.child is not first, seconds=120)
        wait_until(lambda: (scoring(project).round, scoring(project).done) == (2, 90), seconds=120)
    finally:
        supervisor.stop()
    assert not supervisor.alive
    assert row(project).phase == "stopped"
    project.close()
    after = standing(folder)
    assert {**after, "status": None} == {**unbroken, "status": None}
