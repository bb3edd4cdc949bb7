from __future__ import annotations

from sqlalchemy import update

from hybridal.app.db.schema import Text
from hybridal.app.project import Project

from ...made_up import consensus
from ..visits import Visit


def test_texts_are_deleted_by_id_or_by_search_and_restored_by_time(owner: Visit, annotator: Visit) -> None:
    [one] = [owner.post("/api/texts/delete", {"ids": ["t3", "none"]}).json()]
    assert one["deleted"] == 1
    search = {"search": "text 1", "expected": 11}
    assert owner.post("/api/texts/delete", {"found": {**search, "expected": 10}}).status_code == 409
    all_of_them = owner.post("/api/texts/delete", {"found": {"search": " ", "expected": 19}})
    assert (all_of_them.status_code, "Search for the texts" in all_of_them.text) == (400, True)
    many = owner.post("/api/texts/delete", {"found": search}).json()
    assert many["deleted"] == 11
    untold = {"search": "text 1", "expected": None}
    assert owner.post("/api/texts/delete", {"found": untold}).status_code == 422
    assert owner.get("/api/texts").json()["total"] == 8
    assert owner.get("/api/project").json()["counts"]["texts"] == 8
    sent = {"key": "k", "text": "t12", "action": "skip"}
    refused = annotator.post("/api/annotations", sent)
    assert (refused.status_code, refused.json()) == (410, {"error": "The text 't12' was deleted."})
    assert [visit.get("/api/texts/t12").status_code for visit in (owner, annotator)] == [200, 404]
    assert annotator.get("/api/texts", state="deleted").status_code == 403
    assert owner.get("/api/texts", state="deleted").json()["total"] == 12
    assert owner.post("/api/texts/restore", {"at": many["at"]}).json() == {"restored": 11}
    assert owner.post("/api/texts/restore", {"ids": ["t3", "t4"]}).json() == {"restored": 1}
    assert owner.get("/api/texts").json()["total"] == 20


def test_a_class_that_is_archived_is_not_given_and_a_deleted_one_is_no_label(
    owner: Visit, annotator: Visit, project: Project
) -> None:
    sent = {"key": "1", "text": "t1", "action": "label", "class": "a"}
    assert annotator.post("/api/annotations", sent).status_code == 200
    with project.sessions.begin() as session:
        session.execute(update(Text).values(suggestion=1))
    assert {item["suggestion"] for item in owner.get("/api/next").json()["items"]} == {"a"}
    assert owner.patch("/api/classes/1", {"archived": "out"}).json()["archived"] == "out"
    assert {item["suggestion"] for item in owner.get("/api/next").json()["items"]} == {None}
    assert annotator.post("/api/annotations", sent).status_code == 200  # sent again, it counts once
    for path in ("/api/annotations", "/api/adjudications"):
        given = {"key": "2", "text": "t2", "class": "a"} | ({"action": "label"} if "ann" in path else {})
        refused = owner.post(path, given)
        assert (refused.status_code, refused.json()["error"]) == (409, "The class 'a' is archived; choose another.")
    assert [one["name"] for one in owner.get("/api/classes").json()["items"]] == ["b", "c"]
    assert [one["name"] for one in owner.get("/api/classes", archived=True).json()["items"]] == ["a", "b", "c"]
    assert "is archived; restore it" in owner.post("/api/classes", {"name": "a"}).json()["error"]
    assert consensus(project) == {"t1": ("a", "people")}
    assert owner.post("/api/classes/1/delete").json() == {"texts": 1}
    assert owner.get("/api/classes/deletion").json() == {"texts": 0}
    assert consensus(project) == {}
    assert owner.post("/api/classes", {"name": "a"}).json()["number"] == 4
