from __future__ import annotations

from ..visits import Visit


def test_everybody_is_listed_with_what_they_said(owner: Visit, annotator: Visit) -> None:
    for number, name in enumerate(["a", None, "b"]):
        action = "label" if name else "skip"
        annotator.post("/api/answers", {"key": str(number), "text": f"t{number}", "action": action, "class": name})
    assert owner.get("/api/people").json()["items"] == [
        {"number": 1, "name": "me", "kind": "person", "role": "owner", "active": True, "labels": 0, "skips": 0},
        {
            "number": 2,
            "name": "annotator 0",
            "kind": "person",
            "role": "annotator",
            "active": True,
            "labels": 2,
            "skips": 1,
        },
    ]


def test_a_role_changes_at_once(owner: Visit, annotator: Visit) -> None:
    assert annotator.get("/api/doubts").status_code == 403
    assert owner.patch("/api/people", {"number": 2, "role": "reviewer", "name": "Ada"}).status_code == 200
    assert annotator.get("/api/doubts").status_code == 200
    assert annotator.get("/api/project").json()["me"] == {"name": "Ada", "role": "reviewer"}
    assert owner.patch("/api/people", {"number": 1, "role": "annotator"}).status_code == 409
    assert owner.patch("/api/people", {"number": 9, "role": "annotator"}).status_code == 404
