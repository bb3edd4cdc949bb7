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


def test_the_quality_of_a_model_is_there_for_all_and_confusions_of_people_for_reviewers(
    owner: Visit, annotator: Visit
) -> None:
    found = annotator.get("/api/quality").json()
    assert (found["texts"], [one["name"] for one in found["classes"]], found["cells"]) == (0, ["a", "b", "c"], [])
    assert found["classes"][0]["recall"] == {"part": 0, "of": 0, "value": None, "low": None, "high": None}
    assert owner.get("/api/confusions").json() == {"items": []}
    assert annotator.get("/api/confusions").status_code == 403
    assert owner.get("/api/texts", one="a", other="b").json()["total"] == 0
    assert annotator.get("/api/texts", one="a", other="b").status_code == 403
