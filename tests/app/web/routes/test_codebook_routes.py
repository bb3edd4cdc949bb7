from __future__ import annotations

from fastapi import FastAPI

from hybridal.app.project import Project

from ...made_up import consensus, people
from ..visits import Visit, signed_in


def label(visit: Visit, text: str, name: str, **more: object) -> None:
    given = {"key": f"{text}-{name}-{visit.csrf_token[:8]}", "text": text, "action": "label", "class": name}
    answer = visit.post("/api/annotations", {**given, **more})
    assert answer.status_code == 200, answer.text


def number_of(visit: Visit, name: str) -> int:
    found = visit.get("/api/classes", archived=True).json()["items"]
    numbers: dict[str, int] = {one["name"]: one["number"] for one in found}
    return numbers[name]


def test_versions_say_who_changed_what(owner: Visit) -> None:
    a = number_of(owner, "a")
    owner.patch(f"/api/classes/{a}", {"name": "A", "description": "the first"})
    owner.post("/api/classes", {"name": "d", "description": "the last", "group": "ends"})
    owner.patch(f"/api/classes/{a}", {"group": "ends"})
    owner.patch(f"/api/classes/{a}", {"position": 2})
    owner.post(f"/api/classes/{number_of(owner, 'b')}/merge", {"into": number_of(owner, "c")})
    owner.post(f"/api/classes/{number_of(owner, 'd')}/delete")
    found = owner.get("/api/codebook/versions").json()
    assert found["next"] is None
    versions = {one["number"]: one for one in found["items"]}
    told = [(one["number"], one["operation"], one["person"]) for one in found["items"]]
    assert told == [
        (6, "delete", "me"),
        (5, "merge", "me"),
        (4, "group", "me"),
        (3, "add", "me"),
        (2, "change", "me"),
        (1, "add", None),
    ]
    [change] = versions[2]["changes"]
    assert change == {
        "number": a,
        "name": "A",
        "before": {"name": "a", "description": ""},
        "after": {"name": "A", "description": "the first"},
    }
    assert owner.get("/api/project").json()["codebook"] == 6
    then = {one["number"]: one for one in owner.get("/api/codebook/versions/1").json()["items"]}
    assert (then[a]["name"], then[a]["group"], len(then)) == ("a", "", 3)
    assert owner.get("/api/codebook/versions/9").status_code == 404
    assert [one["name"] for one in owner.get("/api/classes").json()["items"]] == ["A", "c"]


def test_versions_come_in_pages(owner: Visit) -> None:
    a = number_of(owner, "a")
    for at in range(60):
        owner.patch(f"/api/classes/{a}", {"name": f"a{at}"})
    first = owner.get("/api/codebook/versions").json()
    assert ([one["number"] for one in first["items"]], first["next"]) == ([*range(61, 11, -1)], 12)
    second = owner.get("/api/codebook/versions", before=first["next"]).json()
    assert ([one["number"] for one in second["items"]], second["next"]) == ([*range(11, 0, -1)], None)
    assert second["items"][0]["changes"][0]["name"] == "a9"


def test_a_class_is_split_and_its_labels_are_looked_at_again(owner: Visit, annotator: Visit, project: Project) -> None:
    for id in ("t1", "t2", "t3"):
        label(annotator, id, "a")
    label(annotator, "t4", "b")
    a = number_of(owner, "a")
    assert owner.get("/api/codebook/touched", **{"class": a}).json() == {"class": 3, "model": 0, "similar": 0}
    parts = [{"name": "a1", "description": "one"}, {"name": "a2"}]
    made = owner.post("/api/codebook/split", {"class": a, "parts": parts}).json()
    assert made == {"version": 2, "queued": 3}
    assert annotator.get("/api/project").json()["rechecks"] == 3
    [told, _] = owner.get("/api/codebook/versions").json()["items"]
    assert (told["class"], told["parts"]) == ("a", ["a1", "a2"])
    assert told["rechecks"] == {"open": 3, "done": 0, "dismissed": 0}
    found = annotator.get("/api/codebook/rechecks/next", n=2).json()
    assert found["left"] == 3
    first, second = found["items"]
    assert (first["old"], first["version"], first["reason"]) == (["a"], 2, "class")
    label(annotator, first["id"], "a2", codebook=2)
    assert annotator.post("/api/codebook/rechecks/postpone", {"text": second["id"]}).json() == {"ok": True}
    [third, last] = annotator.get("/api/codebook/rechecks/next", version=2).json()["items"]
    assert last["id"] == second["id"] != third["id"]
    label(annotator, third["id"], "a1")
    assert owner.post("/api/codebook/versions/2/dismiss").json() == {"texts": 1}
    assert annotator.get("/api/codebook/rechecks/next").json() == {"items": [], "left": 0}
    [told, _] = owner.get("/api/codebook/versions").json()["items"]
    assert told["rechecks"] == {"open": 0, "done": 2, "dismissed": 1}
    assert {name for name, _ in consensus(project).values()} == {"a", "a1", "a2", "b"}


def test_a_new_definition_queues_only_what_the_owner_chose(owner: Visit, annotator: Visit) -> None:
    label(annotator, "t1", "a")
    a = number_of(owner, "a")
    given = {"class": a, "description": "only crashes", "recheck": ["model", "similar"]}
    assert owner.post("/api/codebook/redefine", given).json() == {"version": 2, "queued": 0}
    answer = owner.post("/api/codebook/redefine", given)
    assert (answer.status_code, answer.json()["error"]) == (400, "The new definition is the same as the old one.")
    given = {"class": a, "description": "crashes and hangs"}
    assert owner.post("/api/codebook/redefine", given).json() == {"version": 3, "queued": 1}


def test_agreement_is_compared_before_and_after_a_version(app: FastAPI, owner: Visit, project: Project) -> None:
    one, other = (signed_in(app, person) for person in people(project, 2))
    for at in range(8):
        label(one, f"t{at}", "a")
        label(other, f"t{at}", "ab"[at % 2])
    a = number_of(owner, "a")
    owner.post("/api/codebook/split", {"class": a, "parts": [{"name": "a"}, {"name": "d"}]})
    for at in (0, 2, 4):
        label(one, f"t{at}", "d")
        label(other, f"t{at}", "d")
    for visit in (one, other):
        label(visit, "t6", "b")
    found = owner.get("/api/codebook/versions/2/agreement").json()
    assert found["before"]["texts"] == 8
    assert found["before"]["alpha"] < 0 < found["after"]["alpha"] == 1
    assert found["after"]["texts"] == 4
    owner.post(f"/api/classes/{a}/merge", {"into": number_of(owner, "b")})
    found = owner.get("/api/codebook/versions/3/agreement").json()
    assert (found["before"]["texts"], found["after"]["texts"], found["after"]["alpha"]) == (8, 8, 1)
    assert found["before"]["alpha"] < 1
    for version in (0, 4, 9):
        assert owner.get(f"/api/codebook/versions/{version}/agreement").status_code == 404


def test_an_annotator_may_not_change_the_codebook(annotator: Visit, reviewer: Visit) -> None:
    split = {"class": 1, "parts": [{"name": "x"}, {"name": "y"}]}
    for visit in (annotator, reviewer):
        assert visit.post("/api/codebook/split", split).status_code == 403
        assert visit.post("/api/codebook/redefine", {"class": 1, "description": "x"}).status_code == 403
    assert annotator.get("/api/codebook/versions").status_code == 403
    assert reviewer.get("/api/codebook/versions").status_code == 200


def test_the_codebook_is_exported_with_its_versions(owner: Visit, annotator: Visit) -> None:
    owner.patch("/api/classes/1", {"name": "A", "group": "first"})
    owner.post("/api/classes/2/merge", {"into": 1})
    owner.post("/api/classes/3/delete")
    found = owner.get("/api/export/codebook.json").json()
    assert found["version"] == 4
    assert found["classes"] == [
        {"number": 1, "name": "A", "description": "", "examples": "", "group": "first", "archived": ""}
    ]
    told = [(one["number"], one["operation"], one["person"]) for one in found["versions"]]
    assert told == [(1, "add", None), (2, "change", "me"), (3, "merge", "me"), (4, "delete", "me")]
    assert found["versions"][1]["changes"] == [
        {"number": 1, "before": {"name": "a", "group": ""}, "after": {"name": "A", "group": "first"}}
    ]
    assert annotator.get("/api/export/codebook.json").status_code == 403
