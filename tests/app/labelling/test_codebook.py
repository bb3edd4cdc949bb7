from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import MissingError
from hybridal.app.db.schema import Annotation, Class, CodebookVersion
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.codebook import (
    changes_between,
    check_versions,
    codebook_at,
    newest_version,
    operation_of,
    read_codebook,
    recording,
    without_changes,
)
from hybridal.app.labelling.removed_classes import merge, remove
from hybridal.app.labelling.texts import add
from hybridal.errors import UserError

from ..made_up import make, me

FIELDS = st.fixed_dictionaries({"name": st.sampled_from("abc"), "group": st.sampled_from(("", "g"))})


@given(st.dictionaries(st.integers(1, 5), FIELDS), st.dictionaries(st.integers(1, 8), FIELDS))
def test_changes_lead_back_to_the_codebook_before_them(before: dict[int, Any], later: dict[int, Any]) -> None:
    after = {**before, **later}
    changes = changes_between(before, after)
    assert without_changes(after, changes) == before
    changed = {number for number in after if before.get(number) != after[number]}
    assert {one.number for one in changes} == changed


OPERATIONS: dict[str, Callable[[Session, Class, Class], object]] = {
    "add": lambda session, one, other: classes.add(session, [f"{one.name}{other.name}"]),
    "rename": lambda session, one, other: classes.rename(session, one.number, f"{one.name}'{other.number}"),
    "describe": lambda session, one, other: classes.describe(session, one.number, f"unlike {other.name}"),
    "group": lambda session, one, other: classes.put_in_group(session, one.number, other.name),
    "archive": lambda session, one, _: classes.archive(session, one.number, "kept"),
    "restore": lambda session, one, _: classes.archive(session, one.number, ""),
    "delete": lambda session, one, _: remove(session, one.number),
    "merge": lambda session, one, other: merge(session, one.number, other.number),
}
STEPS = st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 9), st.integers(0, 9)), max_size=12)


def do(session: Session, name: str, one: int, other: int) -> None:
    """Perform an operation on two of the classes; an impossible one does nothing."""
    there = session.scalars(select(Class).order_by(Class.number)).all()
    try:
        with session.begin_nested():
            OPERATIONS[name](session, there[one % len(there)], there[other % len(there)])
    except UserError:
        session.expire_all()


def every_version_is_kept(folder: Path, steps: list[tuple[str, int, int]], db: str | None = None) -> None:
    project = make(folder, db=db)
    with project.sessions.begin() as session:
        seen = [{}, read_codebook(session)]
        for name, one, other in steps:
            do(session, name, one, other)
            now = read_codebook(session)
            assert newest_version(session) == len(seen) - (now == seen[-1])
            if now != seen[-1]:
                seen.append(now)
                assert session.get_one(CodebookVersion, len(seen) - 1).operation == name
        assert [codebook_at(session, version) for version in range(len(seen))] == seen
    project.close()


@settings(max_examples=15, deadline=None)
@given(steps=STEPS)
def test_each_operation_makes_a_version_from_which_the_codebook_follows(
    steps: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    every_version_is_kept(tmp_path_factory.mktemp("versions") / "p", steps)


def test_versions_are_kept_in_both_databases(tmp_path: Path, db: str | None) -> None:
    steps = [(name, at, at + 1) for at, name in enumerate(("archive", "restore", *sorted(OPERATIONS), "add"))]
    every_version_is_kept(tmp_path / "p", steps, db)


def test_nested_changes_are_one_version_with_its_author(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    owner = me(project)
    with project.sessions.begin() as session:
        with recording(session, owner):
            [new] = classes.add(session, ["d"])
            classes.describe(session, new.number, "the rest")
        with recording(session, owner):
            classes.rename(session, new.number, "e")
            classes.describe(session, new.number, "all others")
        with recording(session, owner):
            pass
        versions = session.scalars(select(CodebookVersion).order_by(CodebookVersion.number)).all()
        assert [(one.number, one.operation, one.person_number) for one in versions] == [
            (1, "add", None),
            (2, "add", owner.number),
            (3, "change", owner.number),
        ]
        with pytest.raises(MissingError, match="no version 4"):
            codebook_at(session, 4)
    project.close()


def test_a_failed_change_makes_no_version_and_ends_the_recording(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    with project.sessions.begin() as session:
        with pytest.raises(UserError), recording(session):
            classes.rename(session, 1, "")
        assert newest_version(session) == 1
        classes.rename(session, 1, "z")
        assert newest_version(session) == 2
    project.close()


def test_every_label_has_the_version_that_its_annotator_saw(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    owner = me(project)
    with project.sessions.begin() as session:
        add(session, [("x", "of a file", "a")])
        annotate(session, owner, "t1", "label", class_name="a", key="1")
        classes.rename(session, 1, "A")
        annotate(session, owner, "t2", "label", class_name="A", key="2")
        annotate(session, owner, "t3", "label", class_name="b", key="3", codebook=1)
        annotate(session, owner, "t4", "skip", key="4", codebook=99)
        undo(session, owner, "5")
        found = session.execute(select(Annotation.key, Annotation.codebook).order_by(Annotation.number)).all()
    assert [(key if len(key) == 1 else "file", version) for key, version in found] == [
        ("file", 1),
        ("1", 1),
        ("2", 2),
        ("3", 1),
        ("4", 2),
        ("5", 2),
    ]
    project.close()


def test_an_archived_class_that_is_merged_is_recorded_as_a_merge() -> None:
    changes = changes_between({1: {"archived": "kept", "merged_into": None}}, {1: {"archived": "", "merged_into": 2}})
    assert operation_of(changes) == "merge"


def test_classes_of_a_group_stand_together(tmp_path: Path) -> None:
    project = make(tmp_path / "p", classes=("a", "b", "c", "d"))
    with project.sessions.begin() as session:
        for name in ("b", "d"):
            classes.put_in_group(session, classes.find(session, name).number, " pair ")
        assert [(one.name, one.group) for one in classes.active(session)] == [
            ("a", ""),
            ("b", "pair"),
            ("d", "pair"),
            ("c", ""),
        ]
    project.close()


DAMAGES: dict[str, Callable[[CodebookVersion], object]] = {
    "no list": lambda one: setattr(one, "changes", {}),
    "no change": lambda one: setattr(one, "changes", []),
    "no fields": lambda one: setattr(one, "changes", [{"number": 1}]),
    "another class": lambda one: setattr(one, "changes", [{**one.changes[0], "number": 99}]),
    "a number as text": lambda one: setattr(one, "changes", [{**one.changes[0], "number": "1"}]),
    "an unknown field": lambda one: setattr(one, "changes", [{"number": 1, "before": {"x": ""}, "after": {"x": ""}}]),
    "a list as name": lambda one: setattr(
        one, "changes", [{"number": 1, "before": {"name": []}, "after": {"name": ""}}]
    ),
    "no value after": lambda one: setattr(one, "changes", [{"number": 1, "before": {"name": ""}, "after": None}]),
    "fewer fields after": lambda one: setattr(one, "changes", [{"number": 1, "before": {"name": "a"}, "after": {}}]),
    "added twice": lambda one: setattr(one, "changes", [{"number": 1, "before": None, "after": read_fields()}]),
    "parts that are missing": lambda one: setattr(one, "parts", [99]),
    "parts as text": lambda one: setattr(one, "parts", ["1"]),
    "another number": lambda one: setattr(one, "number", 7),
}


def read_fields() -> dict[str, Any]:
    return {"name": "a", "description": "", "examples": "", "group": "", "archived": "", "merged_into": None}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_versions_from_elsewhere_are_refused(tmp_path: Path, damage: str) -> None:
    project = make(tmp_path / "p")
    with project.sessions.begin() as session:
        classes.rename(session, 1, "z")
        check_versions(session)
        DAMAGES[damage](session.get_one(CodebookVersion, 2))
        session.flush()
        with pytest.raises(ValueError, match="codebook"):
            check_versions(session)
    project.close()
