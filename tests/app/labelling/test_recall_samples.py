"""The certificate that nearly all texts of a class are found, from texts that the app draws."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Draw, Prediction, RecallSample, Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.recall_samples import RecallState, draw_recall_sample, recall_state, rows_to_label
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.labelling.texts import Row, add
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.measures.recall_certificate import certify

from ..copies import copied
from ..made_up import check_books, make, me

A = 1  # the number of the class "a"


def state(project: Project) -> RecallState:
    with project.reads() as session:
        return recall_state(session, A, read(session)["multi_label"])


def draw(project: Project) -> None:
    with project.sessions.begin() as session:
        draw_recall_sample(session, read(session), A)


def label(project: Project, rows: Iterable[int], name: str) -> None:
    with project.sessions.begin() as session:
        owner = me(project)
        for row in rows:
            text = session.get_one(Text, row)
            annotate(session, owner, text.id, "label", class_name=name, key=f"{row} {name}")


def predict(project: Project, rows: Iterable[int], number: int) -> None:
    with project.sessions.begin() as session:
        session.add_all(
            Prediction(text_row=row, class_number=number, probability=0.9, entropy=0.1, round=1) for row in rows
        )


@pytest.fixture
def hunted(tmp_path: Path, db: str | None) -> Project:
    """100 of 300 texts are labelled as the class, and the model gives it to 10 others."""
    return _hunted(tmp_path / "p", db=db) if db else copied(_hunted, tmp_path / "p")


def _hunted(folder: Path, db: str | None = None) -> Project:
    project = make(folder, texts=300, validation_first=10, validation_share=0.0, db=db)
    label(project, range(1, 101), "a")
    predict(project, range(101, 111), A)
    predict(project, range(111, 301), 2)
    return project


def test_without_a_sample_it_says_how_many_labels_it_takes(hunted: Project) -> None:
    found = state(hunted)
    assert (found.certificate.found, found.certificate.left_out, found.given, found.drawn) == (100, 190, 10, 0)
    assert found.certificate.labels_needed == certify(100, 190, 0, 0, many_looks=True).labels_needed
    hunted.close()


def test_the_sample_is_random_set_aside_and_served_first(hunted: Project) -> None:
    draw(hunted)
    found, needed = state(hunted), certify(100, 190, 0, 0, many_looks=True).labels_needed
    assert found.drawn == needed == len(found.undecided)
    assert set(found.undecided) <= {*range(111, 301)}
    with hunted.sessions.begin() as session:
        sample = session.scalars(select(RecallSample)).one()
        texts = session.scalars(select(Text).where(Text.row.in_(sample.random_order[: sample.drawn]))).all()
        assert {text.split for text in texts} == {"validation"}
        assert {text.row for text in texts if text.row <= 110}, "texts that the model gives the class are drawn too"
        last = session.scalars(select(Draw).order_by(Draw.number.desc())).first()
        assert last is not None
        assert last.size == sum(text.draw == last.number for text in texts)
        first = rows_to_label(session, A, False)
        leased = lease_texts(session, me(hunted), 5, read(session), first=first)
        assert [text.row for text in leased.texts] == list(first[:5])
        check_books(session)
    hunted.close()


def test_labels_give_the_certificate_or_take_more(hunted: Project) -> None:
    draw(hunted)
    rows = state(hunted).undecided
    with pytest.raises(ConflictError, match="label them first"):
        draw(hunted)
    label(hunted, rows[:2], "a")
    label(hunted, rows[2:], "b")
    found = state(hunted)
    assert (found.certificate.sampled, found.certificate.missed, found.certificate.found) == (len(rows), 2, 102)
    assert not found.certificate.holds
    draw(hunted)
    more = state(hunted)
    assert more.drawn == found.certificate.labels_needed
    label(hunted, more.undecided, "b")
    assert state(hunted).certificate.holds
    with pytest.raises(ConflictError, match="no more labels"):
        draw(hunted)
    hunted.close()


def test_a_text_that_somebody_labelled_meanwhile_counts_once_it_is_drawn(hunted: Project) -> None:
    draw(hunted)
    with hunted.reads() as session:
        sample = session.scalars(select(RecallSample)).one()
        later = [row for row in sample.random_order[sample.drawn :] if row > 110]
    rows = state(hunted).undecided
    label(hunted, later, "b")
    label(hunted, rows[:3], "a")
    label(hunted, rows[3:], "b")
    before = state(hunted).certificate
    assert before.sampled == len(rows), "they were not drawn yet"
    draw(hunted)
    assert state(hunted).certificate.sampled == before.labels_needed
    hunted.close()


def test_only_labels_up_to_the_first_text_without_one_count(hunted: Project) -> None:
    draw(hunted)
    rows = state(hunted).undecided
    label(hunted, rows[:4], "b")
    label(hunted, rows[5:], "b")
    with hunted.sessions.begin() as session:
        annotate(session, me(hunted), session.get_one(Text, rows[4]).id, "skip", key="skipped")
    found = state(hunted)
    assert (found.certificate.sampled, list(found.undecided), found.unsettled) == (4, [rows[4]], 1)
    hunted.close()


def test_new_texts_need_a_new_sample(hunted: Project) -> None:
    draw(hunted)
    with hunted.sessions.begin() as session:
        add(session, [Row("new", "a new text")])
    found = state(hunted)
    assert (found.outdated, found.drawn, found.certificate.left_out) == (True, 0, 191)
    draw(hunted)
    assert not state(hunted).outdated
    hunted.close()


def test_several_classes_per_text(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=60, multi_label=True, db=db)
    with project.sessions.begin() as session:
        owner = me(project)
        for row in range(1, 21):
            annotate(session, owner, f"t{row - 1}", "label", class_names=["a", "b"], key=str(row))
        annotate(session, me(project), "t20", "label", decisions={"b": True}, key="open")
        annotate(session, me(project), "t21", "label", decisions={"a": False}, key="decided")
        one = store_sets(session, [ClassSet.of([A, 3])])[ClassSet.of([A, 3])]
        session.add_all(
            Prediction(text_row=row, class_number=3, label_set=one, probability=0.9, entropy=0.1, round=1)
            for row in range(51, 61)
        )
    found = state(project)
    assert (found.certificate.found, found.certificate.left_out, found.given) == (20, 60 - 20 - 1 - 10, 10)
    draw(project)
    assert state(project).drawn == found.certificate.labels_needed
    project.close()
