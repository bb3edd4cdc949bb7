from __future__ import annotations

from sqlalchemy import update

from hybridal.app.db.schema import Trainer
from hybridal.app.project import Project

from ..visits import Visit


def test_every_page_learns_what_it_needs(annotator: Visit, project: Project) -> None:
    found = annotator.get("/api/project").json()
    assert found["me"] == {"number": 2, "name": "annotator 0", "role": "annotator"}
    assert (found["id"], found["name"], found["budget"]) == (project.key, "made up", 800)
    assert [one["name"] for one in found["classes"]] == ["a", "b", "c"]
    assert found["settings"]["validation_first"] == 10
    assert "llm" not in found["settings"]  # only for owners


def test_settings_change_all_or_none(owner: Visit, project: Project) -> None:
    assert owner.patch("/api/settings", {"batch": 8, "overlap": 1.0}).json()["batch"] == 8
    assert owner.patch("/api/settings", {"batch": 4, "budget": 0}).status_code == 400
    assert owner.patch("/api/settings", {"batch": 4, "seed": 1}).status_code == 422
    assert (project.setting("batch"), project.setting("overlap")) == (8, 1.0)


def test_only_changed_model_settings_are_stored(owner: Visit, project: Project) -> None:
    before = project.setting("overrides")
    assert owner.patch("/api/settings", {"max_length": 128}).json()["max_length"] == 128
    assert project.setting("overrides") == before  # or the model would start a new chapter for nothing
    assert owner.patch("/api/settings", {"protocol": "quick"}).json()["max_length"] == 40
    assert owner.patch("/api/settings", {"max_length": 64}).json()["max_length"] == 64
    assert owner.patch("/api/settings", {"protocol": "paper"}).json()["max_length"] == 64  # a length set by hand stays
    assert owner.patch("/api/settings", {"protocol": "worst"}).status_code == 400


def test_another_protocol_shows_its_own_acquisition(owner: Visit) -> None:
    assert owner.get("/api/project").json()["settings"]["acquisition"] == "margin"
    assert owner.patch("/api/settings", {"protocol": "paper"}).json()["acquisition"] == "entropy"


def test_own_keys_belong_to_one_person(annotator: Visit, owner: Visit) -> None:
    assert annotator.get("/api/project").json()["own_keys"] is None
    assert annotator.send("PUT", "/api/own-keys", {"keys": {"s": "x"}}).json() == {"keys": {"s": "x"}}
    assert annotator.get("/api/project").json()["own_keys"] == {"s": "x"}
    assert owner.get("/api/project").json()["own_keys"] is None
    assert annotator.send("PUT", "/api/own-keys", {"keys": {"s": "7"}}).status_code == 400
    assert annotator.send("PUT", "/api/own-keys", {"keys": {}}).json() == {"keys": {}}
    assert annotator.get("/api/project").json()["own_keys"] == {}


def say(project: Project, **values: object) -> None:
    with project.sessions.begin() as session:
        session.execute(update(Trainer).values(**values))


def test_status_shows_the_trainers_message(annotator: Visit, project: Project) -> None:
    say(project, phase="waiting", done=3, total=16)
    found = annotator.get("/api/trainer").json()
    assert (found["phase"], found["new_labels"], found["needed"]) == ("waiting", 3, 16)


def test_while_it_trains_new_labels_of_the_pool_are_counted(owner: Visit, project: Project) -> None:
    items = owner.get("/api/next", n=6).json()["items"]
    for number, item in enumerate(items):
        owner.post("/api/annotations", {"key": str(number), "text": item["id"], "action": "label", "class": "a"})
    say(project, phase="training", round=1, learnt_annotation=2)
    found = owner.get("/api/trainer").json()
    # The first two answers are known to the model, and every other text is for validation.
    assert (found["new_labels"], found["needed"]) == (2, 16)


def test_wishes_reach_the_trainer(owner: Visit, annotator: Visit, project: Project) -> None:
    assert annotator.post("/api/trainer", {"request": "dance"}).status_code == 422
    refused = annotator.post("/api/trainer", {"request": "finish"})
    told = "Only a reviewer or an owner may finish the model."
    assert (refused.status_code, refused.json()["error"]) == (403, told)
    for request, visit in (("train", annotator), ("retry", annotator), ("finish", owner)):
        assert visit.post("/api/trainer", {"request": request}).json() == {"ok": True}
        assert visit.get("/api/trainer").json()["request"] == request


def test_the_project_has_a_language_for_people_who_have_not_chosen_one(owner: Visit) -> None:
    def language(**headers: str) -> str:
        return str(owner.client.get("/settings", headers=headers).headers["content-language"])

    assert language(**{"accept-language": "fr"}) == "fr"
    assert owner.patch("/api/settings", {"page_language": "de"}).json()["page_language"] == "de"
    assert language(**{"accept-language": "fr"}) == "de"
    owner.client.cookies.set("hybridal-language", "ja")
    assert language() == "ja"
    owner.client.cookies.delete("hybridal-language")
    assert owner.patch("/api/settings", {"page_language": "../de"}).status_code == 400
    assert owner.patch("/api/settings", {"page_language": "xx"}).status_code == 200  # of a newer version, perhaps
    assert language(**{"accept-language": "fr"}) == "fr"
