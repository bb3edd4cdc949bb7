from __future__ import annotations

from hybridal.app.project import Project

from ..visits import Visit


def test_a_reviewer_draws_the_sample_and_its_texts_come_first(owner: Visit, annotator: Visit, project: Project) -> None:
    found = owner.get("/api/recall", **{"class": "a"}).json()
    assert (found["found"], found["drawn"], found["holds"]) == (0, 0, False)
    assert annotator.post("/api/recall", {"class": "a"}).status_code == 403
    drawn = owner.post("/api/recall", {"class": "a"}).json()
    assert drawn["drawn"] == drawn["waiting"] == found["labels_needed"]
    again = owner.post("/api/recall", {"class": "a"})
    assert (again.status_code, again.json()["error"]) == (
        409,
        "Some texts of the sample are not labelled yet; label them first.",
    )
    assert owner.get("/api/next", likely="a").json()["items"][0]["split"] == "validation"
    assert owner.get("/api/recall", **{"class": "nothing"}).status_code == 404


def test_the_certificate_follows_the_predictions_so_it_needs_permission_to_see_them(
    owner: Visit, annotator: Visit
) -> None:
    owner.patch("/api/settings", {"show_predictions": False})
    assert annotator.get("/api/recall", **{"class": "a"}).status_code == 403
