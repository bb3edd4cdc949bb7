"""Labels of the app say how their texts were drawn; only served texts of a random draw are random."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from hybridal.app.db.schema import Annotation, Draw, Person, QueuedText, Text
from hybridal.app.exchange.table_files import label_rows
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.bulk import label_many
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.random_draws import set_aside
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project
from hybridal.app.project_settings import read

from ..made_up import check_books, make, me


def served(project: Project, n: int) -> list[str]:
    with project.sessions.begin() as session:
        return [text.id for text in lease_texts(session, me(project), n, read(session)).texts]


def label(project: Project, id: str, person: Person | None = None, drawn: str | None = None) -> None:
    with project.sessions.begin() as session:
        annotate(session, person or me(project), id, "label", class_name="a", key=f"key {id}", drawn=drawn)


def of_split(project: Project, split: str) -> list[str]:
    with project.reads() as session:
        return [*session.scalars(select(Text.id).where(Text.split == split).order_by(Text.random_order))]


def test_every_label_says_how_its_text_was_drawn(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=100, db=db)
    first, second = served(project, 2)
    for id in (first, second):
        label(project, id)
    picked, bulk = of_split(project, "pool")[-1], of_split(project, "pool")[-2]
    label(project, picked)
    label_many(project.sessions, me(project), {bulk: "a"}, "many")
    validation = of_split(project, "validation")[-1]
    label(project, validation)
    drawn = {row["id"]: row["drawn"] for row in label_rows(project.sessions)}
    assert drawn == {first: "random", second: "queue", picked: "picked", bulk: "bulk", validation: "picked"}
    project.close()


def test_a_correction_does_not_make_a_picked_text_random(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=100, validation_first=100, overlap=1.0, overlap_people=2)
    id = of_split(project, "validation")[0]
    with project.sessions.begin() as session:
        annotate(session, me(project), id, "label", class_name="a", key="picked")
        annotate(session, me(project), id, "label", class_name="b", key="corrected", drawn="random")
    assert [row["drawn"] for row in label_rows(project.sessions)] == ["picked"]
    project.close()


def test_uploads_and_later_draws_are_on_record(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=100, validation_first=10, validation_share=0.0, db=db)
    label(project, of_split(project, "pool")[0])
    with project.sessions.begin() as session:
        session.add(
            QueuedText(text_row=session.scalars(select(Text.row).where(Text.split == "pool")).all()[1], rank=0, round=1)
        )
    with project.sessions.begin() as session:
        assert set_aside(session, read(session), 89) == 89
    with project.reads() as session:
        draws = [(draw.upload, draw.frame, draw.size) for draw in session.scalars(select(Draw).order_by(Draw.number))]
        assert draws == [(True, 100, 10), (False, 89, 89)], "all but the labelled text and the first ten"
        assert not session.scalars(select(QueuedText)).all(), "texts set aside are served at random, not as queued"
        numbers = session.scalars(select(Text.draw).where(Text.split == "validation")).all()
        assert (numbers.count(1), numbers.count(2)) == (10, 89)
    project.close()


def test_texts_that_a_language_model_labelled_can_be_drawn_and_lose_its_label(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=50, validation_first=0, validation_share=0.0)
    with project.sessions.begin() as session:
        machine = machine_annotator(session, "(model)", "llm")
    for id in of_split(project, "pool")[:20]:
        label(project, id, machine, drawn="llm")
    with project.sessions.begin() as session:
        assert set_aside(session, read(session), 50) == 50
    with project.reads() as session:
        assert counts(session)["labelled"] == 0
        assert all(text.open for text in session.scalars(select(Text)))
        assert session.scalar(select(Annotation.drawn).limit(1)) == "llm"
        check_books(session)
    project.close()
