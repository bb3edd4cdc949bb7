from __future__ import annotations

from pathlib import Path

import numpy as np
from fastapi import FastAPI
from sqlalchemy import event, select

from hybridal.app.db.schema import Annotation, Prediction, Text
from hybridal.app.labelling.consensus import counts
from hybridal.app.project import Project

from ...made_up import consensus, make, me, people
from ..visits import Visit, local, signed_in, with_token


def test_a_request_asks_its_database_few_questions(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    visit = signed_in(local(project), people(project, 1)[0])
    asked: list[str] = []

    @event.listens_for(project.engine, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, many):  # type: ignore[no-untyped-def]
        waits = "" if context.execution_options.get("pipelined") else "waits: "
        asked.append(f"{waits}{' '.join(statement.split())}")

    def first_words() -> list[str]:
        return [" ".join(statement.split()[:2]) for statement in asked if not statement.startswith("waits: BEGIN")]

    texts = visit.get("/api/next").json()["items"]
    assert len(texts) == 5
    leased = ["waits: SELECT"] * (3 if db is None else 4) + ["INSERT INTO"] * 2
    assert first_words() == [*leased, "waits: SELECT"], asked  # the last one finds comments on all of them
    asked.clear()
    reply = visit.post("/api/annotations", {"key": "1", "text": texts[0]["id"], "action": "label", "class": "a"}).json()
    assert first_words() == [
        *["waits: SELECT", "waits: SELECT", "waits: INSERT"],
        *["INSERT INTO", "DELETE FROM", "INSERT INTO", "UPDATE texts", "UPDATE tally"],
    ], asked
    with project.reads() as session:
        assert reply["counts"] == counts(session)
    project.close()


def names(visit: Visit) -> list[str]:
    return [one["name"] for one in visit.get("/api/classes").json()["items"]]


def test_classes_are_added_renamed_described_moved_and_merged(owner: Visit, project: Project) -> None:
    owner.post("/api/annotations", {"key": "1", "text": "t1", "action": "label", "class": "a"})
    made = owner.post("/api/classes", {"name": " d ", "description": "the last"}).json()
    about = {"number": 4, "name": "d", "description": "the last", "examples": "", "position": 3, "archived": ""}
    assert made == {**about, "key": "", "group": "", "keywords": ""}
    changed = owner.patch(
        "/api/classes/1", {"name": "alpha", "position": 3, "description": "<b>", "examples": "x\ny"}
    ).json()
    about = {"number": 1, "name": "alpha", "description": "<b>", "examples": "x\ny", "position": 3, "archived": ""}
    assert changed == {**about, "key": "", "group": "", "keywords": ""}
    assert names(owner) == ["b", "c", "d", "alpha"]
    assert owner.post("/api/classes/1/merge", {"into": 2}).json()["name"] == "b"
    assert names(owner) == ["b", "c", "d"]
    assert consensus(project) == {"t1": ("b", "people")}


def test_contradicting_request_is_refused(owner: Visit) -> None:
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


def test_a_person_labels_skips_and_takes_back(owner: Visit, project: Project) -> None:
    first, second = owner.get("/api/next", n=2).json()["items"]
    assert (first["split"], second["split"], first["prediction"]) == ("validation", "pool", None)
    sent = {"key": "1", "text": first["id"], "action": "label", "class": "a", "flagged": True, "comment": "odd"}
    for _ in range(2):
        answer = owner.post("/api/annotations", sent).json()
        assert answer["counts"] == {**NOTHING, "labelled": 1, "validation": 1, "flagged": 1}
    skipped = owner.post("/api/annotations", {"key": "2", "text": second["id"], "action": "skip", "class": None})
    assert skipped.json()["counts"]["skipped"] == 1
    assert [owner.post("/api/undo", {"key": key}).json()["item"] for key in ("3", "4", "4", "5")] == [
        second,
        first,
        first,
        None,
    ]
    assert owner.get("/api/project").json()["counts"] == NOTHING
    assert owner.get("/api/next", n=2).json()["left"] == 20


COUNTS = ("labelled", "validation", "pool", "copied", "skipped", "flagged", "disagreements")
NOTHING = {"texts": 20, **dict.fromkeys(COUNTS, 0)}


def test_guesses_are_shown_only_where_that_is_wanted(owner: Visit, annotator: Visit, project: Project) -> None:
    with project.sessions.begin() as session:
        for row in session.scalars(select(Text.row)).all():
            session.add(Prediction(text_row=row, class_number=1, probability=0.75, entropy=0.5, round=1))
    assert annotator.get("/api/next").json()["items"][0]["prediction"] is None
    assert annotator.get("/api/texts").json()["items"][0]["prediction"] is None
    assert owner.get("/api/texts").json()["items"][0]["prediction"] == {"class": "a", "probability": 0.75, "round": 1}
    owner.patch("/api/settings", {"show_predictions": True})
    assert annotator.get("/api/next").json()["items"][0]["prediction"] == {
        "class": "a",
        "probability": 0.75,
        "round": 1,
    }


def label(visit: Visit, text: str, name: str, new_class: bool = False) -> int:
    sent = {"key": f"{text}-{name}", "text": text, "action": "label", "class": name, "new_class": new_class}
    return int(visit.post("/api/annotations", sent).status_code)


def test_programs_may_add_classes_if_their_role_may(app: FastAPI, owner: Visit, project: Project) -> None:
    annotator, reviewer, mine = (with_token(app, me(project), role) for role in ("annotator", "reviewer", "owner"))
    assert label(annotator, "t1", "new", new_class=True) == 404
    assert label(reviewer, "t1", "new") == label(mine, "t1", "new") == 404, "it may be misspelt"
    assert label(reviewer, "t1", "new", new_class=True) == 200
    assert label(annotator, "t2", "new") == 200
    owner.patch("/api/settings", {"open_classes": False})
    assert label(reviewer, "t3", "newer", new_class=True) == 404
    assert label(mine, "t3", "newer", new_class=True) == 200
    assert {id: name for id, (name, _) in consensus(project).items()} == {"t1": "new", "t2": "new", "t3": "newer"}


def test_a_page_that_shows_an_old_class_does_not_bring_it_back(owner: Visit, reviewer: Visit) -> None:
    [a, b, _] = owner.get("/api/classes").json()["items"]
    owner.patch(f"/api/classes/{a['number']}", {"name": "apple"})
    owner.post(f"/api/classes/{b['number']}/delete")
    assert [label(visit, "t1", name) for visit in (owner, reviewer) for name in ("a", "b")] == [404] * 4
    assert [one["name"] for one in owner.get("/api/classes").json()["items"]] == ["apple", "c"]


def test_an_answer_that_is_sent_again_does_not_define_its_class_again(
    app: FastAPI, owner: Visit, project: Project
) -> None:
    sent = {"key": "1", "text": "t1", "action": "label", "class": "bgu", "new_class": True}
    program = with_token(app, me(project), "owner")
    program.post("/api/annotations", sent)
    [number] = [one["number"] for one in owner.get("/api/classes").json()["items"] if one["name"] == "bgu"]
    owner.patch(f"/api/classes/{number}", {"name": "bug"})
    assert program.post("/api/annotations", sent).status_code == 200
    assert [one["name"] for one in owner.get("/api/classes").json()["items"]] == ["a", "b", "c", "bug"]
    assert consensus(project) == {"t1": ("bug", "people")}


def test_invalid_request_is_refused(owner: Visit, project: Project) -> None:
    good = {"key": "1", "text": "t1", "action": "label", "class": "a"}
    for change, status in (
        ({"text": "nowhere"}, 404),
        ({"class": None}, 400),
        ({"action": "skip"}, 400),
        ({"action": "withdraw"}, 422),
        ({"key": ""}, 422),
        ({"key": "x" * 65}, 422),
        ({"key": "a b"}, 422),
        ({"key": "file:1"}, 422),
        ({"comment": "x" * 10_001}, 422),
        ({"class": ""}, 404),
        ({"colour": "red"}, 422),
        ({"flagged": "perhaps"}, 422),
    ):
        assert owner.post("/api/annotations", {**good, **change}).status_code == status, change
    for content in (b"", b"{", b"[]", b'{"key": "1", "text": "\\ud800", "action": "skip"}', b'{"\\udfff": 1}'):
        sent = {"X-CSRF-Token": owner.csrf_token, "Content-Type": "application/json"}
        assert owner.client.post("/api/annotations", content=content, headers=sent).status_code == 422, content
    assert owner.get("/api/next", n=0).status_code == 422
    with project.reads() as session:
        assert session.scalars(select(Annotation)).all() == []


def test_hostile_words_are_only_words(app: FastAPI, project: Project) -> None:
    visit = with_token(app, me(project), "owner")
    hostile = ["<script>alert(1)</script>", "'; DROP TABLE answers; --", "\u202eevil\x07", "a\0b"]
    for number, words in enumerate(hostile):
        sent = {
            "key": str(number),
            "text": "t1",
            "action": "label",
            "class": words,
            "comment": words,
            "new_class": True,
        }
        assert visit.post("/api/annotations", sent).status_code == 200
        answer = visit.get("/api/texts/t1")
        kept = words.replace("\0", "\ufffd")
        assert (answer.json()["class"], answer.json()["comment"]) == (kept, kept)
        assert answer.headers["content-type"] == "application/json"
        assert visit.get("/api/texts", **{"search": words, "class": words}).status_code == 200


def test_class_hunt_needs_permission_to_see_predictions(owner: Visit, annotator: Visit, project: Project) -> None:
    with project.reads() as session:
        rows = dict(session.execute(select(Text.row, Text.id).where(Text.split == "pool").order_by(Text.row)).all())
    shares = np.linspace(0.1, 0.9, len(rows))
    project.probabilities.begin({"classes": [1, 2]}, 2)
    project.probabilities.write([*rows], np.stack([shares, 1 - shares], axis=1), [1] * len(rows))
    asked = owner.get("/api/next", n=6, likely="b").json()
    found = asked["items"]
    assert (asked["known"], owner.get("/api/next").json()["known"]) == (True, True)
    assert [item["id"] for item in found if item["split"] == "pool"] == [*rows.values()][:3]
    assert [item["split"] for item in found].count("validation") == 3, "what is measured on stays a random sample"
    assert owner.get("/api/next", n=6, likely="a").json()["items"] == found, "what they have comes first"
    found = owner.get("/api/next", n=6, likely="a", afresh=True).json()["items"]
    assert [item["id"] for item in found if item["split"] == "pool"] == [*rows.values()][:-4:-1]
    assert not owner.get("/api/next", likely="c").json()["known"]
    assert owner.get("/api/next", likely="nothing").status_code == 404
    assert annotator.get("/api/next", likely="a").status_code == 403
