from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Person, Prediction, Text
from hybridal.app.insight.project_progress import review_texts
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.people import add_person
from hybridal.app.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    rows = [(f"t{number}", f"text {number}", None) for number in range(8)]
    project = Project.create(Source("toys", rows, ("sport", "food")), tmp_path / "toys.hybridal")
    yield project
    project.close()


def think(
    project: Project, id: str, prediction: str, probability: float, entropy: float = 0.0, label: str = ""
) -> None:
    """Store predictions and label some of the texts."""
    with project.sessions.begin() as session:
        row = session.scalars(select(Text.row).where(Text.id == id)).one()
        number = classes.find(session, prediction).number
        session.add(Prediction(text_row=row, class_number=number, probability=probability, entropy=entropy, round=1))
        if label:
            me = session.scalars(select(Person).where(Person.name == "me")).one()
            annotate(session, me, id, "label", class_name=label, key=f"key-{id}")


def test_doubtful_are_the_unlabelled_texts_of_highest_entropy(project: Project) -> None:
    think(project, "t1", "sport", 0.6, 0.5)
    think(project, "t2", "food", 0.51, 0.69)
    think(project, "t3", "food", 0.5, 0.7, label="food")
    think(project, "t4", "food", 0.9, 0.1)
    with project.reads() as session:
        found = review_texts(session, limit=2)
    assert found["uncertain"] == [
        {"id": "t2", "text": "text 2", "prediction": "food", "probability": 0.51, "entropy": 0.69},
        {"id": "t1", "text": "text 1", "prediction": "sport", "probability": 0.6, "entropy": 0.5},
    ]
    assert found["contradicted"] == []


def test_disputed_texts_are_not_probable_errors(project: Project) -> None:
    think(project, "t1", "sport", 0.6, 0.5, label="food")
    think(project, "t2", "sport", 0.6, 0.4)
    with project.sessions.begin() as session:
        other = add_person(session, "Ada", "annotator")
        annotate(session, other, "t1", "label", class_name="sport", key="1")
        annotate(session, other, "t2", "skip", key="2")
    with project.reads() as session:
        assert [one["id"] for one in review_texts(session)["uncertain"]] == ["t2"]


def test_contradicted_are_the_labels_that_the_model_surely_thinks_wrong(project: Project) -> None:
    think(project, "t1", "sport", 0.8, label="food")
    think(project, "t2", "sport", 0.95, label="food")
    think(project, "t3", "sport", 0.99, label="sport")
    think(project, "t4", "sport", 0.45, label="food")
    think(project, "t5", "sport", 0.99)
    with project.reads() as session:
        found = review_texts(session, limit=5)["contradicted"]
    assert found == [
        {"id": "t2", "text": "text 2", "class": "food", "prediction": "sport", "probability": 0.95},
        {"id": "t1", "text": "text 1", "class": "food", "prediction": "sport", "probability": 0.8},
    ]


def test_a_corrected_label_is_contradicted_no_more(project: Project) -> None:
    think(project, "t1", "sport", 0.8, label="food")
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        annotate(session, me, "t1", "label", class_name="sport", key="again")
    with project.reads() as session:
        assert review_texts(session)["contradicted"] == []
