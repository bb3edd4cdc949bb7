from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Guess, Person, Text
from hybridal.app.insight.progress import progress
from hybridal.app.insight.proportion import wilson
from hybridal.app.labelling import classes
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.source import Source
from hybridal.app.project import Project
from hybridal.core.facts import Round
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.system.files import strict_json
from hybridal.testing.small import toy_task

from .rounds import round_of

TASK = toy_task(train=40, validation=2, test=0)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    rows = [(id, text, None) for id, text in zip(TASK.train.ids, TASK.train.texts, strict=True)]
    project = Project.create(Source("toys", rows, TASK.classes), tmp_path / "toys.hybridal")
    yield project
    project.close()


def tell(project: Project, number: int, schedule: str, *history: Round) -> None:
    folder = RunFolder.create(project.runs / f"{number:03d}", Settings("toys", schedule=schedule), TASK, {})
    for fact in history:
        folder.append(fact)


def moving(t: int, change: float | None, update: str = "retrain", right: int = 15) -> Round:
    return round_of(t, update, changes={"accuracy": change}, right=right)


def test_a_fresh_project_has_no_rounds_and_all_its_classes(project: Project) -> None:
    found = progress(project)
    assert (found["rounds"], found["switch"], found["signal"]) == ([], None, None)
    assert found["balance"] == [{"class": "sport", "n": 0}, {"class": "food", "n": 0}]
    assert found["saved"]["sentence"] == ""


def test_a_round_is_told_with_its_interval_and_its_signal(project: Project) -> None:
    tell(project, 1, "hybrid:accuracy", moving(1, None), moving(2, 0.004, right=18))
    first, second = progress(project)["rounds"]
    assert (first["signal"], first["stable"], first["epsilon"]) == (None, False, 0.005)
    assert (second["signal"], second["stable"]) == (0.004, True)
    assert (second["round"], second["update"], second["labels"], second["accuracy"]) == (2, "retrain", 20, 0.9)
    assert (second["low"], second["high"]) == wilson(18, 20)
    assert (second["f1"], second["nll"], second["ece"]) == (0.5, 0.7, 0.2)
    assert second["seconds"] == pytest.approx(0.1 * 100 + 1)


def test_chapters_are_counted_through_and_the_newest_one_switches(project: Project) -> None:
    tell(project, 1, "hybrid:accuracy", moving(1, None), moving(2, 0.0), moving(3, 0.0))
    assert progress(project)["switch"] == 3
    tell(project, 2, "hybrid:accuracy:0.02:1", moving(1, None))
    assert progress(project)["switch"] is None
    tell(project, 3, "hybrid:accuracy:0.02:1", moving(1, None), moving(2, 0.01), moving(3, 0.0, "finetune"))
    found = progress(project)
    assert [row["round"] for row in found["rounds"]] == list(range(1, 8))
    assert (found["switch"], found["signal"]) == (6, {"name": "accuracy", "epsilon": 0.02})
    assert found["saved"]["sentence"].startswith("1 of 7 updates")


def test_a_schedule_without_a_signal_and_rounds_without_validation_are_told_too(project: Project) -> None:
    tell(project, 1, "retrain", round_of(1, validation=None, temperature=None))
    found = progress(project)
    assert (found["signal"], found["switch"]) == (None, None)
    assert (found["rounds"][0]["accuracy"], found["rounds"][0]["low"], found["rounds"][0]["epsilon"]) == (None,) * 3


def test_calibration_is_of_labelled_validation_texts_and_balance_of_all_labels(project: Project) -> None:
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        sport, food = (classes.find(session, name).number for name in ("sport", "food"))
        for split, n in (("validation", 4), ("pool", 3)):
            rows = session.scalars(select(Text).where(Text.split == split).limit(n)).all()
            for number, text in enumerate(rows):
                answer(session, me, text.id, "label", class_name="food", key=f"key-{text.row}")
                guess = food if number else sport
                session.add(Guess(text_row=text.row, class_number=guess, probability=0.65, entropy=0.6, round=1))
    found = progress(project)
    (filled,) = [bin for bin in found["calibration"] if bin["n"]]
    assert (filled["n"], filled["confidence"], filled["accuracy"]) == (4, pytest.approx(0.65), 0.75)
    assert found["balance"] == [{"class": "sport", "n": 0}, {"class": "food", "n": 7}]


def test_it_is_strict_json_and_needs_no_torch(project: Project) -> None:
    tell(project, 1, "hybrid:accuracy", moving(1, None), moving(2, 0.0, "finetune"))
    code = f"""
import json, sys
from hybridal.app.insight import doubts, progress
from hybridal.app.project import Project
from hybridal.app.trainer import supervisor
print(json.dumps(progress.progress(Project.open({str(project.folder)!r}))))
print([name for name in ("torch", "transformers", "sklearn") if name in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    told, loaded = said.splitlines()
    assert json.loads(told) == json.loads(strict_json(progress(project)))
    assert loaded == "[]"
