from __future__ import annotations

from hybridal.app.project import Project

from ...made_up import verdicts
from ..visits import Visit


def names(visit: Visit) -> list[str]:
    return [one["name"] for one in visit.get("/api/classes").json()["items"]]


def test_classes_are_added_renamed_described_moved_and_merged(owner: Visit, project: Project) -> None:
    owner.post("/api/answers", {"key": "1", "text": "t1", "action": "label", "class": "a"})
    made = owner.post("/api/classes", {"name": " d ", "description": "the last"}).json()
    assert made == {"number": 4, "name": "d", "description": "the last", "position": 3}
    changed = owner.patch("/api/classes/1", {"name": "alpha", "position": 3, "description": "<b>"}).json()
    assert changed == {"number": 1, "name": "alpha", "description": "<b>", "position": 3}
    assert names(owner) == ["b", "c", "d", "alpha"]
    assert owner.post("/api/classes/1/merge", {"into": 2}).json()["name"] == "b"
    assert names(owner) == ["b", "c", "d"]
    assert verdicts(project) == {"t1": ("b", "people")}


def test_what_contradicts_is_refused(owner: Visit) -> None:
    owner.post("/api/classes/3/merge", {"into": 2})
    for answer, status in (
        (owner.post("/api/classes", {"name": "a"}), 409),
        (owner.post("/api/classes", {"name": "c"}), 409),
        (owner.post("/api/classes", {"name": "  "}), 400),
        (owner.patch("/api/classes/1", {"name": "b"}), 409),
        (owner.patch("/api/classes/99", {"name": "x"}), 404),
        (owner.post("/api/classes/1/merge", {"into": 1}), 409),
        (owner.post("/api/classes/1/merge", {"into": 99}), 404),
    ):
        assert answer.status_code == status, answer.text
    assert names(owner) == ["a", "b"]


def test_reviewers_add_classes_as_long_as_the_owners_let_them(owner: Visit, reviewer: Visit, annotator: Visit) -> None:
    assert annotator.post("/api/classes", {"name": "d"}).status_code == 403
    assert reviewer.post("/api/classes", {"name": "d"}).status_code == 200
    owner.patch("/api/settings", {"open_classes": False})
    assert reviewer.post("/api/classes", {"name": "e"}).json() == {
        "error": "Only an owner may add classes to this project."
    }
    assert owner.post("/api/classes", {"name": "e"}).status_code == 200
