from __future__ import annotations

from hybridal.app.project import Project

from ..visits import Visit


def test_every_page_learns_what_it_needs(annotator: Visit, project: Project) -> None:
    found = annotator.get("/api/project").json()
    assert found["me"] == {"name": "annotator 0", "role": "annotator"}
    assert (found["id"], found["name"], found["budget"]) == (project.key, "made up", 800)
    assert [one["name"] for one in found["classes"]] == ["a", "b", "c"]
    assert found["settings"]["validation_first"] == 10
    assert "llm" not in found["settings"]  # it is nobody's business but the owner's


def test_settings_change_all_or_none(owner: Visit, project: Project) -> None:
    assert owner.patch("/api/settings", {"batch": 8, "overlap": 1.0}).json()["batch"] == 8
    assert owner.patch("/api/settings", {"batch": 4, "budget": 0}).status_code == 400
    assert owner.patch("/api/settings", {"batch": 4, "seed": 1}).status_code == 422
    assert (project.setting("batch"), project.setting("overlap")) == (8, 1.0)
