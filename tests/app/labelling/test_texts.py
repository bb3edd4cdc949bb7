from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import func, select

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.schema import Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.removed_classes import remove, rows_to_update, update_texts
from hybridal.app.labelling.text_search import search
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import Added, GivenRow, Row, add, add_in_parts, new_rows
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.schemas import items_of

from ..made_up import check_books, consensus, make, me, merge_classes


@pytest.fixture
def three(tmp_path: Path) -> Project:
    """Texts one, two and, again, two."""
    return Project.create(Source("s", [("1", "one", None), ("2", "two", None), ("9", "two", None)]), tmp_path / "p")


def found(project: Project, rows: Sequence[GivenRow], numbered: bool = False) -> list[Row]:
    with project.reads() as session:
        return new_rows(session, rows, numbered)


def test_a_text_is_known_by_its_id(three: Project) -> None:
    assert found(three, [("2", "two", "label"), ("3", "two", None), ("3", "two", None)]) == [Row("3", "two")]


def test_an_id_cannot_be_that_of_two_texts(three: Project) -> None:
    for rows in ([("1", "other", None)], [("new", "a", None), ("new", "b", None)]):
        with pytest.raises(ConflictError, match="already belongs to another text"):
            found(three, rows)


def test_rows_without_ids_are_known_by_their_text_and_count_on(three: Project) -> None:
    rows: list[GivenRow] = [
        ("1", "two", None),
        ("2", "three", "x"),
        *[(str(i), f"text {i}", None) for i in range(3, 9)],
    ]
    new = found(three, rows, numbered=True)
    assert [row.id for row in new] == ["4", "5", "6", "7", "8", "10", "11"]
    assert new[0] == Row("4", "three", "x")


def test_the_first_rows_keep_their_numbers(tmp_path: Path) -> None:
    rows: list[GivenRow] = [("1", "same", None), ("2", "same", None)]
    project = Project.create(Source("s", []), tmp_path / "p")
    assert found(project, rows, numbered=True) == [Row(*row) for row in rows]
    project.close()


HOSTILE = [
    "<script>alert(1)</script>",
    "'; DROP TABLE texts; --",
    "tab\tbell\x07escape\x1b[31m line\nfeed \x7f\x85",
    "\u202eright to left\u202c \u200f \ufeff",
    "{{ 7 * 7 }} %s {0} \\ \" '",
    "😀 é \U0010ffff",
    "x" * 100_000,
]


def bodies(project: Project) -> dict[str, str]:
    with project.reads() as session:
        return {text.id: text.body for text in session.scalars(select(Text))}


def put(project: Project, rows: list[GivenRow], numbered: bool = False) -> Added:
    with project.sessions.begin() as session:
        added = add(session, rows, numbered=numbered)
        check_books(session)
        return added


def test_labels_that_come_with_the_texts_are_the_files_answers(tmp_path: Path, db: str | None) -> None:
    rows: list[GivenRow] = [(f"{i}", f"text {i}", "ab"[i % 2] if i % 3 else None) for i in range(30)]
    project = Project.create(Source("s", rows), tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        check_books(session)
        annotate(session, me(project), "1", "label", class_name="a", key="1")
    found = consensus(project)
    assert found.pop("1") == ("a", "people")
    assert found == {id: (label, "file") for id, _, label, *_ in rows if label is not None and id != "1"}
    project.close()


def test_any_text_is_kept_as_it_is(tmp_path: Path, db: str | None) -> None:
    rows: list[GivenRow] = [(f"{number} {body[:50]}", body, None) for number, body in enumerate(HOSTILE)]
    project = Project.create(Source("s", rows), tmp_path / "p", db=db)
    assert bodies(project) == {id: body for id, body, *_ in rows}
    project.close()


def test_only_the_character_that_postgresql_cannot_keep_is_replaced(tmp_path: Path, db: str | None) -> None:
    project = Project.create(Source("s", [("i\0d", "a\0b", "c\0d")]), tmp_path / "p", db=db)
    assert bodies(project) == {"i\ufffdd": "a\ufffdb"}
    assert put(project, [("i\0d", "a\0b", None)]) == Added(0, 1)
    project.close()


def test_known_texts_stay_and_new_ones_come_with_a_reserve_of_their_own(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=100)
    more: list[GivenRow] = [(f"t{i}", f"text {i}", None) for i in range(50, 200)]
    assert put(project, more) == Added(100, 50)
    with project.reads() as session:
        held_out = session.scalars(select(Text.id).where(Text.split == "validation")).all()
    new = sum(int(id[1:]) >= 100 for id in held_out)
    assert (len(held_out), new) == (40, 20)  # a fifth of the texts, which is less than what would be wanted
    project.close()


def test_the_same_texts_are_drawn_for_the_same_seed(tmp_path: Path) -> None:
    found = []
    for name, seed in (("p", 42), ("q", 42), ("r", 43)):
        project = make(tmp_path / name, texts=200, seed=seed, overlap=0.3)
        with project.reads() as session:
            found.append(
                [(text.split, text.random_order, text.required_votes) for text in session.scalars(select(Text))]
            )
        project.close()
    assert found[0] == found[1] != found[2]


def test_many_texts_come_in_parts_and_the_same_again_adds_the_rest(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=10, db=db)
    rows: list[GivenRow] = [(f"t{i}", f"text {i}", "ab"[i % 2] if i % 10 == 0 else None) for i in range(4500)]
    with project.sessions.begin() as session:
        add(session, rows[:2000])  # as if it had been interrupted here
    assert add_in_parts(project.sessions, rows) == Added(2500, 2000)
    assert add_in_parts(project.sessions, rows) == Added(0, 4500)
    with pytest.raises(ConflictError):
        add_in_parts(project.sessions, [("new", "new", None), *rows[:4490], ("t4499", "other", None)])
    found = bodies(project)
    assert len(found) == 4500
    assert "new" not in found  # all or nothing, as far as can be known beforehand
    assert len(consensus(project)) == 449
    with project.reads() as session:
        assert counts(session)["labelled"] == 449
        held_out = session.scalar(select(func.count()).where(Text.split == "validation"))
    assert held_out == 900  # a fifth of the first ten, and of all others too
    project.close()


def reserve(project: Project) -> set[str]:
    with project.reads() as session:
        return {*session.scalars(select(Text.id).where(Text.split == "validation"))}


def test_a_larger_validation_share_takes_any_text_that_nobody_annotated(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=1000)
    first = reserve(project)
    with project.sessions.begin() as session:
        seen = {text.id for text in lease_texts(session, me(project), 900, read(session)).texts}
    project.decide({"validation_share": 0.1})  # ten, and 80 of 800
    assert (len(first), len(reserve(project))) == (50, 90)
    assert reserve(project) >= first
    assert (reserve(project) - first) & seen, "texts on a screen can be drawn too, or the draw would not be random"
    project.decide({"validation_share": 0.01})
    assert len(reserve(project)) == 90
    project.close()


@pytest.mark.parametrize(("change", "expected"), [({"budget": 1200}, 70), ({"validation_first": 25}, 65)])
def test_a_larger_plan_sets_more_aside(tmp_path: Path, change: dict[str, int], expected: int) -> None:
    project = make(tmp_path / "p", texts=1000)
    first = reserve(project)
    project.decide(change)  # ten at first and a twentieth of 800 labels until now
    assert (len(first), len(reserve(project))) == (50, expected)
    assert reserve(project) > first
    project.close()


def test_a_smaller_plan_keeps_what_is_set_aside_for_a_later_rise(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=1000)
    first = reserve(project)
    project.decide({"budget": 200})
    assert reserve(project) == first
    project.decide({"budget": 800})
    assert reserve(project) == first
    project.close()


def test_labelled_texts_do_not_become_validation_texts(tmp_path: Path) -> None:
    """A model may have learnt it, although its class is deleted now and it has no label."""
    project = make(tmp_path / "p", texts=1000)
    with project.sessions.begin() as session:
        pool = session.scalars(select(Text.id).where(Text.split == "pool")).all()
        owner = me(project)
        for id in pool:
            annotate(session, owner, id, "label", class_name="a", key=id)
        remove(session, classes.find(session, "a").number)
        update_texts(session, rows_to_update(session))
    first = reserve(project)
    project.decide({"validation_share": 0.1})
    assert reserve(project) == first
    project.close()


def wanted(project: Project) -> dict[int, int]:
    with project.reads() as session:
        rows = session.execute(select(Text.required_votes, func.count()).group_by(Text.required_votes))
        return {number: texts for number, texts in rows}  # noqa: C416


def test_overlap_share_is_about_as_requested(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=1000, overlap=0.2)
    assert 150 < wanted(project)[2] < 250
    project.decide({"overlap": 0.5})
    assert 430 < wanted(project)[2] < 570
    project.decide({"overlap_people": 4})
    assert 430 < wanted(project)[4] < 570
    project.decide({"overlap": 0.0})
    assert wanted(project) == {1: 1000}
    project.close()


def test_annotated_texts_are_not_drawn_again(project: Project) -> None:
    with project.sessions.begin() as session:
        annotate(session, me(project), "t1", "label", class_name="a", key="1")
    project.decide({"overlap": 1.0})
    assert wanted(project) == {1: 1, 2: 19}


CONTEXT = [
    Row("x", "one", "a", {"author": "Ådá", "when": "2024"}),
    Row("y", "two", "new", {"note": "nul\0"}),
    Row("z", "three"),
]


def test_other_columns_of_a_file_are_stored_searched_and_named(tmp_path: Path, db: str | None) -> None:
    project = Project.create(Source("s", CONTEXT), tmp_path / "p", db=db)
    with project.reads() as session:
        kept = dict(session.execute(select(Text.id, Text.context)).all())
        assert kept == {"x": {"author": "Ådá", "when": "2024"}, "y": {"note": "nul\ufffd"}, "z": None}
        assert [text.id for text in search(session, "ada 2024").texts] == ["x"]
        assert read(session)["columns"] == ["author", "when", "note"]
    assert put(project, [Row("w", "four", None, {"when": "now", "more": "x"})]) == Added(1, 0)
    assert project.setting("columns") == ["author", "when", "note", "more"]
    project.close()


def test_suggested_labels_are_no_annotations(tmp_path: Path, db: str | None) -> None:
    source = Source("s", CONTEXT, ("a", "b"), suggested=True)
    project = Project.create(source, tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        check_books(session)
        assert (counts(session)["labelled"], [one.name for one in classes.active(session)]) == (0, ["a", "b", "new"])
        merge_classes(session, classes.find(session, "new").number, classes.find(session, "b").number)
    with project.reads() as session:
        shown = items_of(session, session.scalars(select(Text)).all(), show_predictions=False)
        assert {item.id: item.suggestion for item in shown} == {"x": "a", "y": "b", "z": None}
    project.close()
