from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.schema import Annotation, Consensus, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.removed_classes import merge, remove, rows_to_update, update_texts
from hybridal.app.trainer.snapshot import snapshot

from ..made_up import check_books, consensus, make, me, merge_classes, people


def test_a_deleted_class_leaves_its_texts_unlabelled_and_its_name_free(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        given = [(one, "t1", "b"), (one, "t1", "a"), (one, "t2", "a"), (other, "t2", "b"), (other, "t3", "c")]
        for key, (person, id, name) in enumerate(given):
            annotate(session, person, id, "label", class_name=name, key=str(key))
        a = classes.find(session, "a").number
    with project.sessions.begin() as session:
        assert remove(session, a) == 2
        with pytest.raises(ConflictError, match="merged or deleted before"):
            remove(session, a)
        update_texts(session, rows_to_update(session))
    # People who differed only in this class agree now, and all annotations are kept.
    assert consensus(project) == {"t2": ("b", "people"), "t3": ("c", "people")}
    with project.sessions.begin() as session:
        check_books(session)
        assert len(session.scalars(select(Annotation)).all()) == 5
        assert "a" not in snapshot(session).classes.values()
        again = classes.add(session, ["a"])[0]
        assert (again.number != a, classes.get(session, a).name) == (True, "a (deleted)")
        annotate(session, one, "t1", "label", class_name="a", key="new")
        undo(session, one, "back")  # her earlier label was of the removed class
        check_books(session)
        remove(session, again.number)
        update_texts(session, rows_to_update(session))
        assert classes.get(session, again.number).name == "a (deleted 2)"
    assert consensus(project) == {"t2": ("b", "people"), "t3": ("c", "people")}
    project.close()


def test_the_names_that_a_deleted_class_had_taken_over_are_free_too(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        a, b = (classes.find(session, name).number for name in "ab")
        merge_classes(session, a, b)
        assert classes.find(session, "a").number == b
        remove(session, b)
        for name in ("a", "b", "a (deleted)", "b (deleted)"):
            with pytest.raises(MissingError):
                classes.find(session, name)
        again = classes.add(session, ["a", "b"])
        assert not {a, b} & {one.number for one in again}
        assert [one.archived for one in again] == ["", ""]
    project.close()


def test_labelling_goes_on_between_the_parts_of_a_deletion_and_all_of_it_counts(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        for i in range(10):
            annotate(session, one, f"t{i}", "label", class_name="a", key=f"{i}")
        remove(session, classes.find(session, "a").number)
    with project.reads() as session:
        first = rows_to_update(session)[:4]
    with project.sessions.begin() as session:
        update_texts(session, first)
    with project.sessions.begin() as session:
        assert len(rows_to_update(session)) == 6
        with pytest.raises(MissingError):
            annotate(session, other, "t8", "label", class_name="a", key="late")
        annotate(session, other, "t8", "label", class_name="b", key="b")  # while "a" still counts
        annotate(session, one, "t9", "label", class_name="c", key="c")
        assert "a" not in snapshot(session).classes.values()
    for _ in range(2):  # a second time changes nothing
        with project.sessions.begin() as session:
            update_texts(session, rows_to_update(session))
            check_books(session)
    assert consensus(project) == {"t8": ("b", "people"), "t9": ("c", "people")}
    project.close()


def test_labelling_goes_on_between_the_parts_of_a_merge_and_no_label_is_new(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        for i in range(8):
            annotate(session, one, f"t{i}", "label", class_name="a", key=f"{i}")
        annotate(session, other, "t7", "label", class_name="b", key="7b")
        a, b = (classes.find(session, name).number for name in "ab")
        assert merge(session, a, b).number == b
        changed = dict(session.execute(select(Text.id, Consensus.annotation_number).join(Text)).all())
        first = rows_to_update(session)[:4]
    with project.sessions.begin() as session:
        update_texts(session, first)
    with project.sessions.begin() as session:
        assert len(rows_to_update(session)) == 4
        annotate(session, other, "t5", "label", class_name="a", key="5a")  # in addition to a removed one
        annotate(session, one, "t6", "label", class_name="c", key="6c")
        assert {*snapshot(session).pool.values(), *snapshot(session).validation.values()} == {b, b + 1}
    for _ in range(2):  # a second time changes nothing
        with project.sessions.begin() as session:
            update_texts(session, rows_to_update(session))
            check_books(session)
    assert consensus(project) == {f"t{i}": ("c" if i == 6 else "b", "people") for i in range(8)}
    with project.reads() as session:
        now = dict(session.execute(select(Text.id, Consensus.annotation_number).join(Text)).all())
    assert {id for id in now if now[id] != changed.get(id)} == {"t5", "t6", "t7"}, "another name is no news"
    project.close()


def test_a_class_into_which_another_is_being_merged_takes_all_labels_along(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    with project.sessions.begin() as session:
        owner = me(project)
        for id, name in (("t1", "a"), ("t2", "b"), ("t3", "c")):
            annotate(session, owner, id, "label", class_name=name, key=id)
        a, b = (classes.find(session, name).number for name in "ab")
        merge(session, a, b)
        remove(session, b)
        update_texts(session, rows_to_update(session))
        check_books(session)
    assert consensus(project) == {"t3": ("c", "people")}
    project.close()
