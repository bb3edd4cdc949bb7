from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.schema import Annotation, Class, Prediction, Text
from hybridal.app.insight.project_progress import class_balance
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.classes import ClassEntry
from hybridal.app.labelling.consensus import counts
from hybridal.app.project import Project
from hybridal.app.trainer.snapshot import snapshot
from hybridal.errors import UserError

from ..made_up import check_books, consensus, make, me, merge_classes, people


def names(project: Project) -> list[str]:
    with project.reads() as session:
        return [one.name for one in classes.active(session)]


def test_new_classes_come_last_and_known_ones_stay(project: Project) -> None:
    with project.sessions.begin() as session:
        found = classes.add(session, ["d", " b ", "d"])
        assert [one.name for one in found] == ["d", "b", "d"]
    assert names(project) == ["a", "b", "c", "d"]


def test_renaming_keeps_every_label(project: Project) -> None:
    with project.sessions.begin() as session:
        annotate(session, me(project), "t1", "label", class_name="a", key="1")
        classes.rename(session, classes.find(session, "a").number, "alpha")
    assert consensus(project) == {"t1": ("alpha", "people")}
    with project.reads() as session, pytest.raises(MissingError):
        classes.find(session, "a")


def test_two_classes_cannot_have_one_name(project: Project) -> None:
    with project.sessions.begin() as session:
        number = {one.name: one.number for one in classes.active(session)}
        with pytest.raises(ConflictError, match="merge the two"):
            classes.rename(session, number["a"], "b")
        merge_classes(session, number["c"], number["b"])
        with pytest.raises(ConflictError, match="was merged"):
            classes.rename(session, number["a"], "c")
        assert classes.rename(session, number["a"], "a").name == "a"


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_class_needs_a_name(project: Project, name: str) -> None:
    with project.sessions.begin() as session, pytest.raises(UserError, match="needs a name"):
        classes.add(session, [name])


def test_a_column_of_texts_is_not_taken_for_labels(project: Project) -> None:
    with pytest.raises(UserError, match="the right label column"), project.sessions.begin() as session:
        classes.add(session, [f"class {i}" for i in range(classes.MAX_CLASSES + 1)])
    assert names(project) == ["a", "b", "c"]


@pytest.mark.parametrize(("position", "expected"), [(0, "cab"), (1, "acb"), (2, "abc"), (99, "abc")])
def test_a_class_moves_to_its_position(project: Project, position: int, expected: str) -> None:
    with project.sessions.begin() as session:
        classes.place(session, classes.find(session, "c").number, position)
    assert names(project) == list(expected)


def test_everything_of_one_class_is_of_the_other(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        number = {found.name: found.number for found in classes.active(session)}
        given = [(one, "t1", "a"), (one, "t2", "b"), (one, "t3", "a"), (other, "t3", "b")]
        for key, (person, id, name) in enumerate(given):
            annotate(session, person, id, "label", class_name=name, key=str(key))
        row = session.scalars(select(Text.row)).first()
        session.add(Prediction(text_row=row, class_number=number["a"], probability=0.9, entropy=0.1, round=1))
        assert counts(session)["disagreements"] == 1
    with project.sessions.begin() as session:
        merge_classes(session, number["a"], number["b"])
    # Who differed only in the two names agrees now.
    assert consensus(project) == {"t1": ("b", "people"), "t2": ("b", "people"), "t3": ("b", "people")}
    with project.sessions.begin() as session:
        check_books(session)
        assert session.scalars(select(Prediction.class_number)).all() == [number["b"]]
        # Annotations are kept; an outdated page may go on using the old name.
        assert number["a"] in session.scalars(select(Annotation.class_number)).all()
        annotate(session, one, "t4", "label", class_name="a", key="late")
        merge_classes(session, number["b"], number["c"])
        assert classes.resolve(session, number["a"]) == number["c"]
    assert {name for name, _ in consensus(project).values()} == {"c"}
    project.close()


@pytest.mark.postgres
def test_an_answer_that_is_under_way_is_of_the_class_that_is_left(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        number = {found.name: found.number for found in classes.active(session)}
        annotate(session, one, "t1", "label", class_name="a", key="1")
    merged = threading.Event()

    def merge_them() -> None:
        with project.sessions.begin() as session:
            merge_classes(session, number["a"], number["b"])
        merged.set()

    merging = threading.Thread(target=merge_them)
    with project.sessions.begin() as session:
        annotate(session, other, "t1", "label", class_name="b", key="2")  # disagrees, as long as there are two classes
        annotate(session, other, "t2", "label", class_name="a", key="3")
        merging.start()
        assert not merged.wait(0.2)
    merging.join(60)
    assert consensus(project) == {"t1": ("b", "people"), "t2": ("b", "people")}
    with project.sessions.begin() as session:
        assert classes.find(session, "a").number == number["b"]
        check_books(session)
    project.close()


@pytest.mark.postgres
def test_annotation_that_waited_for_a_merge_sees_it(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    person = people(project, 1)[0]

    def answer_it() -> None:
        with project.sessions.begin() as session:
            seen = classes.find(session, "a")
            annotate(session, person, "t1", "label", class_name=seen.name, key="1")

    answering = threading.Thread(target=answer_it)
    with project.sessions.begin() as session:
        a, b, _ = classes.active(session)
        merge_classes(session, a.number, b.number)
        answering.start()
        answering.join(0.2)
        assert answering.is_alive()
    answering.join(60)
    assert consensus(project) == {"t1": ("b", "people")}
    project.close()


def test_archived_class_is_not_offered_and_keeps_its_labels(project: Project) -> None:
    with project.sessions.begin() as session:
        a, b = (classes.find(session, name).number for name in "ab")
        owner = me(project)
        for id, name in (("t1", "a"), ("t2", "b"), ("t3", "c")):
            annotate(session, owner, id, "label", class_name=name, key=id)
        classes.archive(session, a, "out")
        classes.archive(session, b, "kept")
    assert names(project) == ["c"]
    assert {name for name, _ in consensus(project).values()} == {"a", "b", "c"}
    with project.sessions.begin() as session:
        with pytest.raises(ConflictError, match="is archived; choose another"):
            classes.find_offered(session, "a")
        now = snapshot(session)
        assert set(now.classes.values()) == {"b", "c"}
        assert {*now.pool, *now.validation} == {"t2", "t3"}
        assert [found["class"] for found in class_balance(session)] == ["c"]
        with pytest.raises(ConflictError, match="'a' is archived"):
            classes.rename(session, b, "a")
        classes.archive(session, a, "")
        assert {*snapshot(session).pool, *snapshot(session).validation} == {"t1", "t2", "t3"}
    assert names(project) == ["a", "c"]


def test_only_two_different_classes_in_use_are_merged(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    with project.sessions.begin() as session:
        a, b, c = session.scalars(select(Class.number).order_by(Class.number)).all()
        merge_classes(session, a, b)
        for gone, left in ((b, b), (a, c), (c, a)):
            with pytest.raises(ConflictError):
                merge_classes(session, gone, left)
    project.close()


def test_a_long_chain_of_merges_leads_to_its_end() -> None:
    """As many as there can be classes: resolved by recursion, they closed a project for good."""
    n = classes.MAX_CLASSES
    found = classes.resolve_merges({number: number + 1 if number < n else None for number in range(1, n + 1)})
    assert {*found.values()} == {n}


def test_a_class_is_resolved_through_many_merges(project: Project) -> None:
    with project.sessions.begin() as session:
        made = classes.add(session, [f"class {number}" for number in range(900)])
        for one, into in pairwise(made):
            one.merged_into = into.number
        session.flush()
        assert classes.find(session, "class 0").number == made[-1].number


def test_a_list_of_classes_adds_and_updates_all_or_none(project: Project) -> None:
    with project.sessions.begin() as session:
        listed = [ClassEntry("d", "delta", "x"), ClassEntry(" a ", "alpha"), ClassEntry("b")]
        assert classes.define(session, listed) == (1, 1)
        assert classes.define(session, listed) == (0, 0)
        classes.set_key(session, classes.find(session, "a").number, "Y")
    with project.sessions.begin() as session:
        assert classes.define(session, [ClassEntry("a", key="x"), ClassEntry("d", key="y")]) == (0, 2)
        found = {one.name: (one.description, one.key) for one in classes.active(session)}
        assert found == {"a": ("alpha", "x"), "b": ("", ""), "c": ("", ""), "d": ("delta", "y")}
    for bad in ([ClassEntry("e"), ClassEntry("f", key="x")], [ClassEntry("e"), ClassEntry(" ")]):
        with pytest.raises(UserError), project.sessions.begin() as session:
            classes.define(session, bad)
    assert names(project) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("key", ["c", "f", "0", "ä", "12", "é", "."])
def test_a_key_with_another_meaning_is_refused(project: Project, key: str) -> None:
    with project.sessions.begin() as session, pytest.raises(UserError, match="cannot be the key of a class"):
        classes.set_key(session, classes.find(session, "a").number, key)


def test_the_key_of_an_archived_class_is_free(project: Project) -> None:
    with project.sessions.begin() as session:
        a, b = (classes.find(session, name).number for name in "ab")
        classes.set_key(session, a, "x")
        with pytest.raises(ConflictError, match="The key 'x' is that of the class 'a'"):
            classes.set_key(session, b, "x")
        classes.archive(session, a, "kept")
        assert classes.set_key(session, b, "x").key == "x"
        assert classes.archive(session, a, "").key == ""
