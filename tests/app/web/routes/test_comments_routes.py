from __future__ import annotations

from typing import Any

from hybridal.app.project import Project

from ...made_up import me
from ..visits import Visit, with_token


def sent(visit: Visit, **values: Any) -> Any:
    return visit.post("/api/comments", {"key": "k1", "text": "t1", "to": None, "comment": "why?", **values})


def test_a_thread_from_comment_to_done(annotator: Visit, reviewer: Visit) -> None:
    people = annotator.get("/api/comments/people").json()
    assert people == {"people": [{"number": 1, "name": "me"}, {"number": 3, "name": "reviewer 0"}], "reviewers": True}
    thread = sent(annotator, to=3).json()
    assert (thread["person"], thread["to"], thread["excerpt"]) == ("annotator 0", "reviewer 0", "text 1")
    assert reviewer.get("/api/project").json()["unread"] == 1
    [listed] = reviewer.get("/api/comments").json()["items"]
    assert (listed["unread"], listed["number"], listed["text"]) == (True, thread["number"], "t1")
    assert reviewer.post("/api/comments/read", {"comment": thread["comments"][0]["number"]}).json() == {"ok": True}
    assert reviewer.get("/api/project").json()["unread"] == 0
    given = {"key": "k2", "thread": thread["number"], "comment": "so", "done": True}
    assert reviewer.post("/api/comments/answers", given).json()["done"] is True
    [shown] = annotator.get("/api/texts/t1").json()["threads"]
    assert [(one["person"], one["comment"], one["done"]) for one in shown["comments"]] == [
        ("annotator 0", "why?", False),
        ("reviewer 0", "so", True),
    ]
    assert shown["unread"] is True
    assert annotator.get("/api/comments", box="sent").json()["items"] == [shown]
    assert reviewer.get("/api/comments").json() == {"items": [], "next": None}
    assert reviewer.get("/api/comments", box="all", done="true").json()["items"][0]["done"] is True


def test_lists_are_cut_into_pages(annotator: Visit, owner: Visit) -> None:
    for n in range(21):
        sent(annotator, key=f"k{n}", text="t2")
    page = owner.get("/api/comments").json()
    assert len(page["items"]) == 20
    rest = owner.get("/api/comments", before=page["next"]).json()
    assert (len(rest["items"]), rest["next"]) == (1, None)


def test_what_cannot_be_sent(annotator: Visit) -> None:
    assert sent(annotator, comment="x" * 2001).status_code == 422
    assert sent(annotator, key="file:1").status_code == 422
    assert sent(annotator, comment=" ").json() == {"error": "Write the comment first."}
    assert sent(annotator, text="t99").status_code == 404
    assert annotator.get("/api/comments", box="all").status_code == 403
    assert annotator.post("/api/comments/answers", {"key": "a", "thread": 9, "comment": "x"}).status_code == 404
    assert annotator.post("/api/comments/read", {"comment": 9}).status_code == 404


def test_programs_comment_too(owner: Visit, annotator: Visit, project: Project) -> None:
    program = with_token(owner.client.app, me(project), "annotator")  # type: ignore[arg-type]
    assert sent(program, to=2).json()["person"] == "me"
    assert annotator.get("/api/project").json()["unread"] == 1


def next_threads(visit: Visit, path: str = "/api/next") -> dict[str, list[str]]:
    """The comments on the texts that come next, by the id of the text."""
    items = visit.get(path, n=100).json()["items"]
    return {item["id"]: [one["comments"][0]["comment"] for one in item["threads"]] for item in items}


def test_texts_to_label_come_with_the_comments_that_the_person_sees(
    annotator: Visit, reviewer: Visit, owner: Visit
) -> None:
    sent(owner, to=2, comment="ask")
    sent(owner, to=2, key="k2", comment="again")
    sent(owner, to=3, key="k3", text="t2", comment="of others")
    found = next_threads(annotator)
    assert found == {id: ["ask", "again"] if id == "t1" else [] for id in found}
    assert {"t1", "t2"} <= {*found}
    items = annotator.get("/api/next", n=100).json()["items"]
    [thread, _] = next(item["threads"] for item in items if item["id"] == "t1")
    assert annotator.get("/api/comments").json()["items"][1] == thread
    annotator.post("/api/annotations", {"key": "a", "text": "t1", "action": "label", "class": "a"})
    assert [one["number"] for one in annotator.post("/api/undo", {"key": "u"}).json()["item"]["threads"]] == [1, 2]
    assert "t1" not in next_threads(reviewer)  # it is leased to the annotator


def test_texts_kept_on_a_device_come_without_comments(annotator: Visit, owner: Visit) -> None:
    sent(owner, to=2)
    assert not any("threads" in item for item in annotator.get("/api/next/spare").json()["items"])
