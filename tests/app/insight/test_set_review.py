from __future__ import annotations

from pathlib import Path

import numpy as np
from sqlalchemy import select, update

from hybridal.app.db.schema import Class, Text
from hybridal.app.insight.ranking import of_class
from hybridal.app.insight.set_review import contradicted_decisions
from hybridal.app.labelling.annotations import annotate
from hybridal.app.project import Project

from ..made_up import make, me


def scored(folder: Path) -> Project:
    project = make(folder, texts=4, multi_label=True)
    with project.sessions.begin() as session:
        session.execute(update(Class).where(Class.name != "c").values(threshold=0.2))
        rows = session.scalars(select(Text.row).order_by(Text.row)).all()
    project.probabilities.begin({"classes": [1, 2, 3]}, 3)
    values = np.array([[0.9, 0.15, 0.9], [0.01, 0.9, 0.9], [0.3, 0.02, 0.9]])
    project.probabilities.write(rows[:3], values, [2] * 3)
    return project


def test_decisions_are_contradicted_by_probabilities_far_from_the_threshold(tmp_path: Path) -> None:
    project = scored(tmp_path / "p")
    with project.sessions.begin() as session:
        annotate(session, me(project), "t0", "label", class_names=["b"], key="1")  # a: 0.9 given; b: close
        annotate(session, me(project), "t1", "label", class_names=["a", "b"], key="2")  # a: 0.01
        annotate(session, me(project), "t2", "label", decisions={"b": True, "c": False}, key="3")  # b: 0.02
        annotate(session, me(project), "t3", "label", class_names=["a"], key="4")  # not scored
    with project.reads() as session:
        found = contradicted_decisions(session, project, 10)
        assert [(one["id"], one["class"], one["present"]) for one in found] == [
            ("t1", "a", True),
            ("t2", "b", True),
            ("t0", "a", False),
        ]
        assert (found[0]["classes"], found[0]["threshold"]) == (["a", "b"], 0.2)
        assert abs(found[0]["probability"] - 0.01) < 1e-6
        assert [one["id"] for one in contradicted_decisions(session, project, 10, "b")] == ["t2"]
        assert len(contradicted_decisions(session, project, 1)) == 1
    with project.sessions.begin() as session:  # the reviewer's decision is on this class alone
        annotate(session, me(project), "t1", "label", decisions={"a": True}, key="5", decides=True)
    with project.reads() as session:
        assert [one["id"] for one in contradicted_decisions(session, project, 10)] == ["t2", "t0"]
    project.close()


def test_texts_are_ranked_by_the_probability_of_one_class(tmp_path: Path) -> None:
    project = scored(tmp_path / "p")
    rows = [*of_class(project, 1, 0.2, doubtful=True)]
    assert [*of_class(project, 1, 0.2)] == [rows[1], rows[0]]
    assert rows == [3, 1, 2]  # 0.3, 0.9, 0.01
    assert [*of_class(project, 9, 0.2)] == []
    project.close()
