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
    say(owner, "4", "t4", "a", comment="private")
    assert [visit.get("/api/texts/t4").json()["comment"] for visit in (reviewer, annotator)] == ["private", ""]
    assert "private" not in annotator.get("/api/texts").text


def test_an_annotator_is_told_nothing_of_what_others_say(owner: Visit, annotator: Visit, reviewer: Visit) -> None:
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
        session.execute(update(Text).where(Text.id == "t3").values(body="long " * 1000))
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
