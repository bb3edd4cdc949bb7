from __future__ import annotations

from pathlib import Path

import numpy as np
from sqlalchemy import select, update

from hybridal.app.db.schema import Class, Text
from hybridal.app.insight.questions import questions_about
from hybridal.app.labelling.annotations import annotate
from hybridal.app.project import Project

from ..made_up import make, me, people
from ..web.visits import local, signed_in


def scored(folder: Path) -> Project:
    project = make(folder, texts=5, multi_label=True, validation_first=0, validation_share=0.0)
    with project.sessions.begin() as session:
        session.execute(update(Text).where(Text.id == "t3").values(split="validation"))
        session.execute(update(Text).where(Text.id == "t1").values(required_votes=2))
        session.execute(update(Class).values(threshold=0.4))
        rows = session.scalars(select(Text.row).order_by(Text.row)).all()
    project.probabilities.begin({"classes": [1, 2, 3]}, 3)
    project.probabilities.write(rows[:4], np.array([[0.3, 0.45, 0.01]] * 4), [2] * 4)
    return project


def test_classes_closest_to_their_threshold_are_asked(tmp_path: Path) -> None:
    project = scored(tmp_path / "p")
    ada, bo = people(project, 2)
    with project.sessions.begin() as session:
        for number, id in enumerate(("t0", "t1")):
            annotate(session, bo, id, "label", decisions={"b": True}, key=f"b{number}")
        annotate(session, ada, "t2", "label", decisions={"a": True, "b": None}, key="a")
        texts = session.scalars(select(Text).order_by(Text.row)).all()
        found = questions_about(session, project, ada, texts)
        named = {text.id: found[text.row] for text in texts if text.row in found}
        # Bo's answer is enough for t0, t1 needs two; t2: skipped is answered; t3 is for validation, t4 is not scored.
        assert named == {"t0": ["a"], "t1": ["b", "a"], "t2": ["c"]}
        only = questions_about(session, project, ada, texts, wanted=3)
        assert [*only.values()] == [["c"]] * 3
    project.close()


def test_texts_answered_in_part_come_after_all_others(tmp_path: Path) -> None:
    project = scored(tmp_path / "p")
    owner = signed_in(local(project), me(project))
    asked = {one["id"]: one.get("questions") for one in owner.get("/api/next", n=9, questions=True).json()["items"]}
    assert asked == {"t0": ["b", "a"], "t1": ["b", "a"], "t2": ["b", "a"], "t3": None, "t4": None}
    for id in ("t0", "t1", "t2"):
        answer: dict[str, object] = {"key": id, "text": id, "action": "label", "decisions": {"b": True}}
        assert owner.post("/api/annotations", answer).status_code == 200
    left = [one["id"] for one in owner.get("/api/next", n=9, questions=True).json()["items"]]
    assert sorted(left) == ["t3", "t4"]
    for id in left:
        answer = {"key": id, "text": id, "action": "label", "classes": []}
        assert owner.post("/api/annotations", answer).status_code == 200
    again = {one["id"]: one["questions"] for one in owner.get("/api/next", n=9, questions=True).json()["items"]}
    assert again == {"t0": ["a"], "t1": ["a"], "t2": ["a"]}
    project.close()
