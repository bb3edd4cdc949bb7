from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from sqlalchemy import func, select

from hybridal.app.db.schema import Annotation, Prediction, QueuedText, Text, Vote
from hybridal.app.exchange.label_studio_export import export_tasks
from hybridal.app.exchange.table_files import label_rows
from hybridal.app.insight.annotator_agreement import ratings
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.removal import delete_texts, in_parts, restore_texts
from hybridal.app.labelling.text_search import Conditions, rows_found, search
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.trainer.snapshot import snapshot, task_of

from ..made_up import check_books, consensus, make, people


def rows_of(project: Project, *ids: str) -> list[int]:
    with project.reads() as session:
        return [*session.scalars(select(Text.row).where(Text.id.in_(ids)))]


def test_a_deleted_text_is_hidden_and_restored_unchanged(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, validation_first=0)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        annotate(session, one, "t1", "label", class_name="a", key="1")
        annotate(session, other, "t1", "label", class_name="b", key="2")
        annotate(session, one, "t2", "label", class_name="a", flagged=True, key="3")
        [text] = lease_texts(session, other, 1, read(session)).texts
        session.add(Prediction(text_row=text.row, class_number=1, probability=0.9, entropy=0.1, round=1))
        session.add(QueuedText(text_row=text.row, rank=1, round=1))
        before = counts(session)
    rows = rows_of(project, "t1", "t2", text.id)
    assert in_parts(project.sessions, partial(delete_texts, at=5.0), rows) == 3
    assert in_parts(project.sessions, partial(delete_texts, at=6.0), rows) == 0
    with project.sessions.begin() as session:
        check_books(session)
        assert counts(session) == {**dict.fromkeys(before, 0), "texts": 17}
        assert session.scalar(select(func.count()).select_from(Annotation)) == 3
        assert text.row not in {leased.row for leased in lease_texts(session, other, 100, read(session)).texts}
        assert (
            session.scalars(select(Prediction.text_row)).all() == session.scalars(select(QueuedText.rank)).all() == []
        )
        assert search(session).total == 17
        assert search(session, "text 1", state="unlabelled").total == 10 - (text.id.startswith("t1"))
        assert {found.id for found in search(session, state="deleted").texts} == {"t1", "t2", text.id}
        assert search(session, "text 2", state="deleted").total >= 1
        assert not {*rows} & {*rows_found(session, Conditions("text"))}
        assert ratings(session, min_people=1) == []
        assert undo(session, one, "no more") is None
        now = snapshot(session)
        assert (now.texts, {*now.deleted}, {**now.pool}) == (17, {"t1", "t2", text.id}, {})
        task = task_of(session, "p", snapshot(session))
        assert not now.deleted & {*task.train.ids, *task.validation.ids}
    assert [*label_rows(project.reads)] == []
    assert len(json.loads(b"".join(export_tasks(project.reads)))) == 17
    with project.sessions.begin() as session:
        assert restore_texts(session, rows) == 3
    with project.sessions.begin() as session:
        check_books(session)
        assert counts(session) == before
        assert session.scalar(select(func.count()).select_from(Vote)) == 3
    assert consensus(project) == {"t2": ("a", "people")}
    project.close()
