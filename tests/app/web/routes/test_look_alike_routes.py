from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from hybridal.app.db.schema import Text
from hybridal.app.insight.annotator_agreement import ratings
from hybridal.app.labelling.look_alike_groups import find_groups, groups_are_known
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.app.web import background_updates

from ...labelling.test_look_alike_groups import made, parcel
from ...made_up import consensus, me, people
from ..visits import Visit, local, signed_in


@pytest.fixture
def parcels(tmp_path: Path) -> Iterator[Project]:
    project = made(tmp_path / "p", parcels=4, others=2)
    yield project
    project.close()


@pytest.fixture
def visit(parcels: Project) -> Visit:
    return signed_in(local(parcels), me(parcels))


def test_one_answer_labels_look_alikes_and_is_undone(visit: Visit, parcels: Project) -> None:
    items = visit.get("/api/next", n=6).json()["items"]
    [item] = [one for one in items if one["id"].startswith("p")]
    assert [one["look_alikes"] for one in items if one is not item] == [0, 0]
    assert item["look_alikes"] == 3
    alike = visit.get("/api/look-alikes", id=item["id"]).json()["items"]
    left, out, *_ = [one["id"] for one in alike]
    numbers = [[part["text"] for part in one["parts"] if part["kind"] == "added"] for one in alike]
    assert numbers == [[one["id"][1:]] for one in alike]
    sent = {"key": "1", "text": item["id"], "action": "label", "class": "b", "look_alikes": {"without": [out]}}
    for _ in range(2):
        reply = visit.post("/api/annotations", sent).json()
        assert reply["copies"] == 2
        assert reply["counts"] | {"labelled": 3, "copied": 2} == reply["counts"]
    assert {*consensus(parcels)} == {item["id"], left, alike[2]["id"]}
    listed = {one["id"]: one.get("group") for one in visit.get("/api/texts").json()["items"]}
    assert len({group for id, group in listed.items() if id.startswith("p")}) == 1
    assert {group for id, group in listed.items() if id.startswith("o")} == {None}
    history = visit.get(f"/api/texts/{left}").json()["annotations"]
    assert [(one["action"], one["copied"]) for one in history] == [("label", True)]
    assert {one["labels"] for one in visit.get("/api/people").json()["items"] if one["role"] == "owner"} == {1}
    undone = visit.post("/api/undo", {"key": "2", "undoes": "1"}).json()
    assert undone["item"]["look_alikes"] == 3
    assert undone["counts"]["labelled"] == 0
    assert consensus(parcels) == {}


def test_an_answer_without_look_alikes_is_for_one_text(visit: Visit, parcels: Project) -> None:
    reply = visit.post("/api/annotations", {"key": "1", "text": "p0", "action": "label", "class": "b"}).json()
    assert (reply["copies"], {*consensus(parcels)}) == (0, {"p0"})
    skip: dict[str, Any] = {"key": "2", "text": "p1", "action": "skip", "class": None, "look_alikes": {"without": []}}
    assert visit.post("/api/annotations", skip).json()["copies"] == 0
    assert visit.get("/api/look-alikes", id="o0").json()["items"] == []
    assert visit.get("/api/look-alikes", id="nothing").status_code == 404


def test_sets_of_classes_are_copied_and_decisions_are_not(tmp_path: Path) -> None:
    rows = [(f"p{n}", parcel(n), None) for n in range(4)]
    settings: dict[str, Any] = {"validation_first": 0, "validation_share": 0.0}
    project = Project.create(Source("sets", rows, ("a", "b"), multi_label=True), tmp_path / "p", **settings)
    find_groups(project.sessions, project.reads)
    visit = signed_in(local(project), me(project))
    alike = {"look_alikes": {"without": ["p1"]}}
    some = visit.post(
        "/api/annotations", {"key": "1", "text": "p3", "action": "label", "decisions": {"a": True}, **alike}
    )
    assert some.json()["copies"] == 0
    whole = {"key": "2", "text": "p0", "action": "label", "classes": [], **alike}
    assert visit.post("/api/annotations", whole).json()["copies"] == 1
    assert visit.get("/api/texts/p2").json()["classes"] == []
    assert visit.get("/api/next", n=4, questions=True).json()["items"][0]["look_alikes"] == 0
    project.close()


def test_the_server_finds_look_alikes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_updates, "GROUPING_DELAY", 0.0)
    rows = [(f"p{n}", parcel(n), None) for n in range(4)]
    project = Project.create(Source("new", rows, ("a", "b")), tmp_path / "p")
    app = local(project)
    visit = signed_in(app, me(project))
    assert visit.get("/api/look-alikes", id="p0").json()["items"] == []

    def is_found() -> bool:
        with project.reads() as session:
            return groups_are_known(session)

    async def serve() -> None:
        async with background_updates.lifespan(app):
            while not is_found():
                await asyncio.sleep(0.02)

    asyncio.run(serve())
    assert visit.get("/api/look-alikes", id="p0").json()["items"]
    project.close()


def test_people_agree_on_answers_and_not_on_copies(parcels: Project) -> None:
    owner, [other] = me(parcels), people(parcels, 1)
    app = local(parcels)
    with parcels.sessions.begin() as session:
        session.execute(update(Text).values(required_votes=2))
    for person in (owner, other):
        sent = {"key": f"{person.number}", "text": "p0", "action": "label", "class": "b", "look_alikes": {}}
        assert signed_in(app, person).post("/api/annotations", sent).json()["copies"] == 3
    with parcels.reads() as session:
        assert [text for text, *_ in ratings(session)] == ["p0", "p0"]
