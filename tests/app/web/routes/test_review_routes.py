from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from hybridal.app.db.schema import Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.people import add_person
from hybridal.app.project import Project

from ...copies import copied
from ...made_up import consensus, make
from .signed_in import browser, promote


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return copied(disagreeing, tmp_path / "p")


def disagreeing(folder: Path) -> Project:
    """Ann and Bo labelled four texts each, and differ on one of the three that they share."""
    made = make(folder, 10)
    answers = {"Ann": {"t0": "a", "t1": "b", "t2": "a", "t3": "c"}, "Bo": {"t0": "a", "t1": "b", "t2": "c", "t4": "b"}}
    with made.sessions.begin() as session:
        for who, labels in answers.items():
            person = add_person(session, who, "annotator")
            for text, name in labels.items():
                comment = "hm" if text == "t2" else ""
                annotate(session, person, text, "label", class_name=name, key=f"{who}-{text}", comment=comment)
    promote(made, "Rev", "reviewer")
    return made


def test_agreement_comes_with_its_sample_size(project: Project) -> None:
    with browser(project, "Rev") as client:
        found = client.get("/api/agreement").json()
    # 3 texts with 2 answers: aa, bb, ac. One of three differs; expected: 2 (3·2 + 3·1 + 2·1) of 6·5 ordered pairs.
    assert found["alpha"] == pytest.approx(1 - (1 / 3) / (22 / 30))
    assert (found["texts"], found["pairs"]) == (3, 3)
    assert [person["name"] for person in found["people"]] == ["Ann", "Bo"]
    assert found["people"][0] == {"name": "Ann", "texts": 3, "agreed": pytest.approx(2 / 3)}
    [pair] = found["between"]
    assert pair["confused"] == [{"one": "a", "other": "c", "times": 1}]


def test_agreement_without_overlap_gives_the_reason(tmp_path: Path) -> None:
    with browser(make(tmp_path / "p")) as client:
        found = client.get("/api/agreement").json()
    assert (found["alpha"], found["note"], found["people"]) == (None, "no text has been labelled by two people", [])


def test_long_texts_are_listed_truncated(project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(update(Text).where(Text.id == "t2").values(body="x" * 10_000))
    with browser(project, "Rev") as client:
        [item] = client.get("/api/disagreements").json()["items"]
    assert (item["text"][:9], len(item["text"]) < 600) == ("x" * 9, True)


def test_disagreements_are_listed_until_a_decision(project: Project) -> None:
    with browser(project, "Rev") as client:
        [item] = client.get("/api/disagreements").json()["items"]
        assert (item["id"], item["text"]) == ("t2", "text 2")
        assert [(one["person"], one["class"], one["comment"]) for one in item["annotations"]] == [
            ("Ann", "a", "hm"),
            ("Bo", "c", "hm"),
        ]
        before = client.get("/api/agreement").json()
        for _ in range(2):
            decided = client.post("/api/adjudications", json={"key": "k1", "text": "t2", "class": "c"})
            assert decided.json()["counts"]["disagreements"] == 0
        assert client.get("/api/disagreements").json() == {"items": []}
        assert consensus(project)["t2"] == ("c", "adjudicated")
        # The reviewer has seen the other labels, so the decision does not count.
        assert client.get("/api/agreement").json() == before


def test_a_decision_that_makes_no_sense_is_refused(project: Project) -> None:
    right = {"key": "k", "text": "t2", "class": "a"}
    refusals: list[tuple[dict[str, Any], int]] = [
        ({"text": "nowhere"}, 404),
        ({"class": "nothing"}, 404),
        ({"class": None}, 400),
        ({"key": "bad key!"}, 422),
        ({"extra": 1}, 422),
    ]
    with browser(project, "Rev") as client:
        for wrong, status in refusals:
            refused = client.post("/api/adjudications", json={**right, **wrong})
            assert (refused.status_code, "error" in refused.json()) == (status, True)
    assert "t2" not in consensus(project)


def test_annotators_neither_see_nor_decide(project: Project) -> None:
    with browser(project, "Ann") as client:
        assert client.get("/api/agreement").status_code == 403
        assert client.get("/api/disagreements").status_code == 403
        assert client.post("/api/adjudications", json={"key": "k", "text": "t2", "class": "a"}).status_code == 403
