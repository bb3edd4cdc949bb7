from __future__ import annotations

from urllib.parse import quote

from fastapi import FastAPI
from sqlalchemy import update

from hybridal.app.db.schema import Text
from hybridal.app.project import Project

from ...made_up import me
from ..visits import Visit, signed_in


def say(visit: Visit, key: str, text: str, name: str, **more: object) -> None:
    sent = {"key": key, "text": text, "action": "label", "class": name, **more}
    assert visit.post("/api/answers", sent).status_code == 200


def test_a_list_tells_what_became_of_each_text(owner: Visit) -> None:
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
        "comment": "hm",
        "guess": None,
    }
    assert owner.get("/api/texts", search="text 1").json()["total"] == 11
    assert owner.get("/api/texts", page=2).json()["items"] == []
    assert owner.get("/api/texts", state="odd").status_code == 422


def test_reviewers_see_the_whole_history_and_annotators_their_own(
    owner: Visit, annotator: Visit, reviewer: Visit
) -> None:
    say(owner, "1", "t3", "b")
    say(annotator, "2", "t3", "a")
    say(owner, "3", "t3", "a")
    said = [(one["person"], one["class"]) for one in reviewer.get("/api/texts/t3").json()["answers"]]
    assert said == [("me", "b"), ("annotator 0", "a"), ("me", "a")]
    assert [one["person"] for one in annotator.get("/api/texts/t3").json()["answers"]] == ["annotator 0"]


def test_any_id_can_be_asked_for(app: FastAPI, project: Project) -> None:
    visit = signed_in(app, me(project))
    for id in ("a/b", "a b?c#d", "é😀", "...", "100%"):
        with project.sessions.begin() as session:
            session.execute(update(Text).where(Text.row == 1).values(id=id))
        # As browsers escape it.
        assert visit.client.get("/api/texts/" + quote(id, safe="")).json()["id"] == id
    assert visit.get("/api/texts/nowhere").json() == {"error": "There is no such text."}
