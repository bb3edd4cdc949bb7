from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.schema import Annotation, Lease, Text, now
from hybridal.app.labelling import bulk as module
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.bulk import label_many, undo_many

from ..made_up import check_books, consensus, make, me, people


def test_bulk_labels_free_texts_and_is_undone_at_once(
    tmp_path: Path, db: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PART", 3)
    project = make(tmp_path / "p", db=db)
    owner, [other] = me(project), people(project, 1)
    with project.sessions.begin() as session:
        pool = [text.id for text in session.scalars(select(Text).where(Text.split == "pool").order_by(Text.row))]
        [measured] = session.scalars(select(Text.id).where(Text.split == "validation").limit(1))
        annotate(session, owner, pool[0], "skip", key="skipped")
        annotate(session, other, pool[1], "label", class_name="c", key="closed")
        held = session.scalars(select(Text.row).where(Text.id == pool[2])).one()
        session.add(Lease(text_row=held, person_number=other.number, until=now() + 100))
    labels = {id: "ab"[at % 2] for at, id in enumerate([measured, *pool[:10], "unknown"])}
    for _ in range(2):  # sent again, it counts once
        assert label_many(project.sessions, owner, labels, "k") == 7
    given = {id: ("ab"[at % 2], "people") for at, id in enumerate(pool[3:10])}
    assert consensus(project) == {**given, pool[1]: ("c", "people")}
    with project.sessions.begin() as session:
        check_books(session)
        undo(session, owner, "one", undoes="k.4")
        annotate(session, owner, pool[9], "label", class_name="c", key="changed")
    assert undo_many(project.sessions, other, "u1", "k") == 0, "they are of another person"
    assert undo_many(project.sessions, owner, "u2", "k") == 5
    assert undo_many(project.sessions, owner, "u2", "k") == 0
    assert consensus(project) == {pool[1]: ("c", "people"), pool[9]: ("c", "people")}
    with project.sessions.begin() as session:
        check_books(session)
        kept = session.scalars(select(Annotation).where(Annotation.key.startswith("k."))).all()
        assert len(kept) == 7, "annotations stay in the history"
        assert len(session.scalars(select(Lease)).all()) == 2, (
            "a text whose label was undone in bulk is not leased again"
        )
    project.close()


def test_an_unknown_class_labels_nothing(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    with pytest.raises(MissingError):
        label_many(project.sessions, me(project), {f"t{at}": "nothing" for at in range(20)}, "k")
    assert consensus(project) == {}
    project.close()


def test_an_archived_class_is_given_to_no_text(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    owner = me(project)
    with project.sessions.begin() as session:
        [pool, *_] = session.scalars(select(Text.id).where(Text.split == "pool").order_by(Text.row))
        classes.find(session, "a").archived = "kept"
    with pytest.raises(ConflictError, match="archived"):
        label_many(project.sessions, owner, {pool: "a"}, "k")
    assert consensus(project) == {}
    project.close()
