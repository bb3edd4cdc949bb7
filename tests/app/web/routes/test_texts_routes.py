from __future__ import annotations

from threading import Thread
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from hybridal.app.db.schema import Explanation, Prediction, Text
from hybridal.app.labelling.text_search import MAX_COUNTED
from hybridal.app.labelling.texts import add
from hybridal.app.project import Project
from hybridal.app.vectors import stamp_of
from hybridal.app.web.routes import texts_routes

from ...made_up import me
from ..visits import Visit, signed_in


def say(visit: Visit, key: str, text: str, name: str, **more: object) -> None:
    sent = {"key": key, "text": text, "action": "label", "class": name, **more}
    assert visit.post("/api/annotations", sent).status_code == 200


def test_text_list_shows_the_state_of_each_text(owner: Visit) -> None:
    say(owner, "1", "t3", "b", flagged=True, comment="hm")
    found = owner.get("/api/texts", state="labelled").json()
    [item] = found["items"]
    assert (found["total"], found["pages"]) == (1, 1)
    assert {**item, "split": ""} == {
        "id": "t3",
        "text": "text 3",
        "class": "b",
        "source": "people",
        "split": "",
        "flagged": True,
        "reason": "",
        "comment": "hm",
        "prediction": None,
        "deleted": False,
        "similarity": None,
    }
    assert owner.get("/api/texts", search="text 1").json()["total"] == 11
    assert owner.get("/api/texts", page=2).json()["items"] == []
    assert owner.get("/api/texts", page=2, search="text 1").json()["pages"] == 1
    assert owner.get("/api/texts", state="odd").status_code == 422


def test_very_many_texts_are_counted_where_their_exact_number_is_asked_for(owner: Visit, project: Project) -> None:
    with project.sessions.begin() as session:
        add(session, [(f"m{at}", f"one of many {at}", None) for at in range(MAX_COUNTED + 1)])
    asked: tuple[dict[str, object], ...] = ({}, {"exact": True}, {"page": 21})
    found = [owner.get("/api/texts", search="many", **more).json() for more in asked]
    assert [(one["total"], one["more"], one["pages"]) for one in found] == [
        (1000, True, 20),
        (1001, False, 21),
        (1001, False, 21),
    ]


def test_reviewers_see_the_whole_history_and_annotators_their_own(
    owner: Visit, annotator: Visit, reviewer: Visit
) -> None:
    say(owner, "1", "t3", "b")
    say(annotator, "2", "t3", "a")
    say(owner, "3", "t3", "a")
    expected = [(one["person"], one["class"]) for one in reviewer.get("/api/texts/t3").json()["annotations"]]
    assert expected == [("me", "b"), ("annotator 0", "a"), ("me", "a")]
    assert [one["person"] for one in annotator.get("/api/texts/t3").json()["annotations"]] == ["annotator 0"]
    say(owner, "4", "t4", "a", comment="private")
    assert [visit.get("/api/texts/t4").json()["comment"] for visit in (reviewer, annotator)] == ["private", ""]
    assert "private" not in annotator.get("/api/texts").text


def test_annotator_does_not_see_annotations_of_others(owner: Visit, annotator: Visit, reviewer: Visit) -> None:
    say(owner, "1", "t3", "b", flagged=True)
    say(annotator, "2", "t5", "a")
    say(owner, "3", "t5", "c")

    def told(visit: Visit, id: str) -> tuple[object, ...]:
        item = visit.get(f"/api/texts/{id}").json()
        [listed] = [one for one in visit.get("/api/texts").json()["items"] if one["id"] == id]
        assert {name: item[name] for name in listed} == listed
        return item["class"], item["source"], item["flagged"]

    assert (told(annotator, "t3"), told(reviewer, "t3")) == ((None, None, False), ("b", "people", True))
    assert (told(annotator, "t5"), told(reviewer, "t5")) == (("a", "people", False), (None, None, False))
    for visit, fit in ((annotator, [1, 19, 0, 0]), (reviewer, [1, 19, 1, 1])):
        asked: list[dict[str, str]] = [{"state": "labelled"}, {"state": "unlabelled"}, {"state": "flagged"}]
        found = [visit.get("/api/texts", **one).json()["total"] for one in [*asked, {"class": "b"}]]
        assert found == fit


def test_lists_show_the_beginning_of_a_long_text_and_the_dialog_all_of_it(owner: Visit, project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(update(Text).where(Text.id == "t3").values(body="long " * 1000, folded="long " * 1000))
    [item] = owner.get("/api/texts", search="long").json()["items"]
    assert (len(item["text"]) < 600, item["text"][-1]) == (True, "…")
    assert owner.get("/api/texts/t3").json()["text"] == "long " * 1000


def test_any_id_can_be_asked_for(app: FastAPI, project: Project) -> None:
    visit = signed_in(app, me(project))
    for id in ("a/b", "a b?c#d", "é😀", "...", "100%"):
        with project.sessions.begin() as session:
            session.execute(update(Text).where(Text.row == 1).values(id=id))
        # As browsers escape it.
        assert visit.client.get("/api/texts/" + quote(id, safe="")).json()["id"] == id
    assert visit.get("/api/texts/nowhere").json() == {"error": "There is no such text."}


def test_predictions_filter_needs_permission_to_see_predictions(owner: Visit, annotator: Visit) -> None:
    for asked in ({"order": "sure"}, {"predicted": "a"}):
        assert annotator.get("/api/texts", **asked).status_code == 403
        assert owner.get("/api/texts", **asked).json()["total"] == 0
    assert owner.send("PATCH", "/api/settings", {"show_predictions": True}).status_code == 200
    assert annotator.get("/api/texts", order="doubt").status_code == 200


def test_texts_that_are_alike_are_listed_and_filtered(owner: Visit, project: Project) -> None:
    answer = owner.get("/api/texts", like="t3")
    assert (answer.status_code, "not read this text yet" in answer.json()["error"]) == (404, True)
    assert owner.get("/api/texts", like="no such text").status_code == 404
    with project.reads() as session:
        texts = session.scalars(select(Text).order_by(Text.row)).all()[:6]  # t0 to t5
    angles = np.array([0.0, 0.3, 0.05, 0.2, 1.0, 0.6])
    project.embeddings.begin({}, 2)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    project.embeddings.write([text.row for text in texts], vectors, [stamp_of(text.digest) for text in texts])
    found = owner.get("/api/texts", like="t3").json()
    assert ([item["id"] for item in found["items"]], found["total"]) == (["t1", "t2", "t0", "t5", "t4"], 5)
    alike = [item["similarity"] for item in found["items"]]
    np.testing.assert_allclose(alike, np.cos([0.1, 0.15, 0.2, 0.4, 0.8]), atol=1e-3)
    say(owner, "1", "t2", "b")
    left = owner.get("/api/texts", like="t3", state="unlabelled").json()["items"]
    assert [item["id"] for item in left] == ["t1", "t0", "t5", "t4"]
    with project.sessions.begin() as session:
        session.get_one(Text, texts[3].row).digest = "0" * 32  # another text got its row
    assert owner.get("/api/texts", like="t3").status_code == 404


def test_some_texts_are_asked_for_by_their_ids(owner: Visit) -> None:
    found = owner.get("/api/texts", id=["t3", "none", "t1", "t3"]).json()
    assert ([item["id"] for item in found["items"]], found["total"]) == (["t3", "t1"], 2)
    assert owner.get("/api/texts", id=["t1"] * 51).status_code == 422


def test_a_prediction_is_explained_once_the_trainer_has_answered(owner: Visit, project: Project) -> None:
    def reasons() -> dict[str, Any]:
        found: dict[str, Any] = owner.post("/api/explanations", {"text": "t0"}).json()
        return found

    assert reasons() == {"state": "none", "words": [], "classes": [], "similar": None}
    with project.sessions.begin() as session:
        session.add(Prediction(text_row=1, class_number=1, probability=0.5, entropy=0.7, round=1))
    assert reasons()["state"] == "waiting"
    found = {"spans": [[0, 4]], "classes": [{"number": 1, "probability": 0.5, "weights": [0.3]}]}
    with project.sessions.begin() as session:
        session.execute(update(Explanation).values(round=1, found=found))
    answered = reasons()
    assert (answered["state"], answered["words"]) == ("ready", [{"start": 0, "end": 4}])
    assert answered["classes"] == [{"class": "a", "probability": 0.5, "weights": [0.3]}]
    assert owner.post("/api/explanations", {"text": "nothing"}).status_code == 404


def test_annotations_do_not_wait_for_the_search_for_similar_texts(
    owner: Visit, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write() -> None:
        with project.sessions.begin() as session:
            session.execute(update(Text).values(random_order=0.5))

    def search(*_: object) -> None:
        writing = Thread(target=write, daemon=True)
        writing.start()
        writing.join(timeout=10)
        assert not writing.is_alive()

    monkeypatch.setattr(texts_routes, "similar_labelled", search)
    assert owner.post("/api/explanations", {"text": "t0"}).status_code == 200


def test_annotators_are_told_reasons_only_if_they_see_predictions(annotator: Visit, project: Project) -> None:
    assert annotator.post("/api/explanations", {"text": "t0"}).status_code == 403
    project.decide({"show_predictions": True})
    assert annotator.post("/api/explanations", {"text": "t0"}).status_code == 200


def test_skipped_and_flagged_texts_are_listed_by_their_reason(owner: Visit, annotator: Visit) -> None:
    skip = {"key": "1", "text": "t1", "action": "skip", "reason": "unclear", "comment": "what?"}
    assert owner.post("/api/annotations", skip).status_code == 200
    say(annotator, "2", "t2", "a", flagged=True, reason="none_fits")
    say(annotator, "3", "t3", "a", flagged=True)
    assert owner.post("/api/annotations", {**skip, "key": "4", "reason": "because"}).status_code == 422

    def found(visit: Visit, **query: str) -> list[tuple[str, str]]:
        return [(one["id"], one["reason"]) for one in visit.get("/api/texts", **query).json()["items"]]

    assert found(owner, state="skipped", reason="unclear") == [("t1", "unclear")]
    assert found(owner, state="flagged") == [("t3", ""), ("t2", "none_fits")]
    assert found(owner, reason="none_fits") == [("t2", "none_fits")]
    assert found(annotator, reason="unclear") == []
    [entry] = owner.get("/api/texts/t1").json()["annotations"]
    assert (entry["reason"], entry["comment"]) == ("unclear", "what?")
    say(annotator, "5", "t2", "b")  # a new answer without a reason
    assert found(owner, reason="none_fits") == []
