from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import Row
from hybridal.app.project import Project

from ...made_up import make, me
from .signed_in import browser, promote


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Texts in two branches and four months, of which 60 were set aside and labelled, with predictions."""
    rows = [
        Row(f"t{at}", f"text {at}", None, {"branch": "ns"[at % 2], "sent": f"2024-0{1 + at % 4}-10"})
        for at in range(300)
    ]
    made = Project.create(
        Source("made up", rows, ("a", "b")), tmp_path / "p", validation_first=60, validation_share=0.0
    )
    right = np.array([[0.8, 0.2] if at % 3 == 0 else [0.2, 0.8] for at in range(300)], dtype=np.float32)
    made.probabilities.begin({"classes": [1, 2]}, 2)
    made.probabilities.write(range(1, 301), right, [2] * 300)
    with made.sessions.begin() as session:
        owner = me(made)
        for text in session.scalars(select(Text).where(Text.split == "validation")).all():
            name = "a" if int(text.id[1:]) % 3 == 0 else "b"
            annotate(session, owner, text.id, "label", class_name=name, key=text.id, drawn="random")
    promote(made, "Rev", "reviewer")
    yield made
    made.close()


def test_shares_come_with_sentences_plan_and_methods(project: Project) -> None:
    with browser(project, "Rev") as client:
        found = client.get("/api/shares", params={"points": 5}).json()
    assert (found["problem"], found["columns"]) == ("", ["branch", "sent"])
    assert (found["labels"], found["texts"], found["waiting"]) == (60, 300, 0)
    line = found["lines"][0]
    assert (line["name"], line["kind"], line["count"]) == ("a", "share", pytest.approx(1 / 3))
    assert line["estimate"]["low"] < 1 / 3 < line["estimate"]["high"]
    assert "with 95% confidence" in line["sentence"]
    assert "prediction-powered" in found["methods"]
    assert f"{found['more_labels']} more random label" in found["plan"] or not found["more_labels"]


def test_groups_classes_and_trends(project: Project) -> None:
    with browser(project, "Rev") as client:
        found = client.get("/api/shares", params={"by": "month:sent", "class": "b"}).json()
        assert found["groups"] == ["2024-01", "2024-02", "2024-03", "2024-04"]
        assert [line["kind"] for line in found["lines"]] == ["share"] * 5 + ["difference", "trend"]
        for by in ("gone", "month:branch"):
            refused = client.get("/api/shares", params={"by": by})
            assert refused.status_code == 200
            assert ("no column" in refused.json()["problem"]) or ("is no date" in refused.json()["problem"])
        assert client.get("/api/shares", params={"points": 0}).status_code == 422


def test_sentences_are_in_the_readers_language(project: Project) -> None:
    with browser(project, "Rev") as client:
        found = client.get("/api/shares", headers={"Accept-Language": "de"}).json()
    assert "Konfidenz" in found["lines"][0]["sentence"]


def test_files(project: Project) -> None:
    with browser(project, "Rev") as client:
        for kind, start in {"csv": b"what,of,class", "md": b"# Shares", "svg": b"<svg", "png": b"\x89PNG"}.items():
            found = client.get(f"/api/shares/file.{kind}", params={"by": "branch"})
            assert found.content.startswith(start), kind
            assert f"shares.{kind}" in found.headers["content-disposition"]
        assert client.get("/api/shares/file.exe").status_code == 422
        assert client.get("/api/shares/file.csv", params={"by": "gone"}).status_code == 400


def test_the_owner_draws_more_texts(project: Project) -> None:
    with browser(project) as client:
        assert client.post("/api/shares/draw", json={"n": 25}).json() == {"drawn": 25, "waiting": 25}
        assert client.post("/api/shares/draw", json={"n": 25}).json() == {"drawn": 0, "waiting": 25}
        assert client.get("/api/shares").json()["waiting"] == 25
        assert client.post("/api/shares/draw", json={"n": 0}).status_code == 422
    with browser(project, "Rev") as client:
        assert client.post("/api/shares/draw", json={"n": 5}).status_code == 403


def test_annotators_see_no_results(project: Project) -> None:
    with browser(project, "Ann") as client:
        assert client.get("/api/shares").status_code == 403
        assert client.get("/results").status_code == 403


def test_without_random_labels_the_page_says_what_it_takes(tmp_path: Path) -> None:
    with browser(made := make(tmp_path / "p", texts=100)) as client:
        found = client.get("/api/shares").json()
    assert found["problem"].startswith("There are 0 random labels, and an estimate takes at least 10")
    assert found["waiting"] > 0
    made.close()
