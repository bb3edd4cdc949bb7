from __future__ import annotations

from sqlalchemy import update

from hybridal.app.db.schema import Prediction, Text
from hybridal.app.project import Project

from ..visits import Visit


def test_progress_and_doubts_are_there_before_any_model(owner: Visit) -> None:
    found = owner.get("/api/progress").json()
    assert (found["rounds"], found["switch"]) == ([], None)
    assert {"calibration", "saved", "balance", "signal"} <= set(found)
    assert owner.get("/api/review").json() == {"uncertain": [], "contradicted": []}


def test_long_texts_are_listed_truncated(owner: Visit, project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(update(Text).where(Text.row == 1).values(body="x" * 10_000))
        session.add(Prediction(text_row=1, class_number=1, probability=0.5, entropy=0.7, round=1))
    [item] = owner.get("/api/review").json()["uncertain"]
    assert (item["text"][:9], len(item["text"]) < 600) == ("x" * 9, True)
