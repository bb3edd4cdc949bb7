from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, update

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, Prediction, Text
from hybridal.app.insight.project_progress import progress, round_rows
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.project import Project, chapter_folders, read_chapters
from hybridal.core.rounds import MultiLabelMetrics
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import multi_label_task

from ..made_up import make, me
from .rounds import round_of


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = make(tmp_path / "p", texts=4, multi_label=True)
    with made.sessions.begin() as session:
        session.execute(update(Text).where(Text.id.in_(["t0", "t1"])).values(split="validation"))
        owner = me(made)
        for id, label in {"t0": {"class_names": ["a"]}, "t1": {"decisions": {"a": False, "b": True}}}.items():
            annotate(session, owner, id, "label", key=id, **label)  # type: ignore[arg-type]
        annotate(session, me(made), "t2", "label", key="t2", class_names=[])
        numbers = {name: number for number, name in session.execute(select(Class.number, Class.name))}
        given = ClassSet.of([numbers["a"]])
        rows = session.scalars(select(Text.row).order_by(Text.row)).all()
        about = {"class_number": numbers["a"], "label_set": store_sets(session, [given])[given], "round": 1}
        session.add_all(Prediction(text_row=row, probability=0.8, entropy=0.3, **about) for row in rows)
        session.execute(update(Class).where(Class.name == "a").values(threshold=0.4))
    made.probabilities.begin({"classes": [numbers[name] for name in "abc"]}, 3)
    made.probabilities.write(rows, np.array([[0.85, 0.35, 0.15]] * len(rows)), [2] * len(rows))
    yield made
    made.close()


def test_each_class_has_its_labels(project: Project) -> None:
    found = progress(project)
    assert found["balance"] == [
        {"class": "a", "n": 1, "absent": 2},
        {"class": "b", "n": 1, "absent": 2},
        {"class": "c", "n": 0, "absent": 2},
    ]


def test_calibration_is_that_of_decisions(project: Project) -> None:
    bins = [(one["n"], one["accuracy"]) for one in progress(project)["calibration"] if one["n"]]
    assert bins == [(1, 0.0), (2, 0.5), (2, 0.5)]  # c of t0, b and a of both; c of t1 is not decided


def test_rounds_have_the_measures_of_several_classes(project: Project) -> None:
    few = MultiLabelMetrics(2, 1, 0.5, 0.5, 0.3, 0.1, 0.1, 0.3, 0.1, support=(1, 1, 0), micro_f1=0.75, lrap=0.9)
    many = MultiLabelMetrics(40, 20, 0.5, 0.6, 0.3, 0.1, 0.1, 0.3, 0.1, support=(20, 20, 20), micro_f1=0.75, lrap=0.9)
    folder = RunFolder.create(project.runs / "001", Settings("toys", schedule="auto"), multi_label_task(), {})
    for t, metrics in enumerate((few, many), 1):
        folder.append(round_of(t, validation=metrics))
    [chapter] = read_chapters(chapter_folders(project.runs))
    first, second = round_rows(chapter)
    assert (first["accuracy"], first["exact_match"], first["micro_f1"], first["f1"]) == (None, 0.5, None, None)
    assert (second["micro_f1"], second["f1"], second["f1_classes"]) == (0.75, 0.6, 3)
    assert second["low"] < 0.75 < second["high"]
    assert len(progress(project)["rounds"]) == 2
