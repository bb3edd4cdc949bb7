from __future__ import annotations

import pytest

from hybridal.app.errors import ConflictError, MissingError
from hybridal.app.labelling import classes
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.merge import merge
from hybridal.app.project import Project
from hybridal.errors import UserError

from ..made_up import me, verdicts


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
        answer(session, me(project), "t1", "label", class_name="a", key="1")
        classes.rename(session, classes.find(session, "a").number, "alpha")
    assert verdicts(project) == {"t1": ("alpha", "people")}
    with project.reads() as session, pytest.raises(MissingError):
        classes.find(session, "a")


def test_two_classes_cannot_have_one_name(project: Project) -> None:
    with project.sessions.begin() as session:
        number = {one.name: one.number for one in classes.active(session)}
        with pytest.raises(ConflictError, match="merge the two"):
            classes.rename(session, number["a"], "b")
        merge(session, number["c"], number["b"])
        with pytest.raises(ConflictError, match="was merged"):
            classes.rename(session, number["a"], "c")
        assert classes.rename(session, number["a"], "a").name == "a"


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_class_needs_a_name(project: Project, name: str) -> None:
    with project.sessions.begin() as session, pytest.raises(UserError, match="needs a name"):
        classes.add(session, [name])


def test_a_column_of_texts_is_not_taken_for_labels(project: Project) -> None:
    with pytest.raises(UserError, match="the right one"), project.sessions.begin() as session:
        classes.add(session, [f"class {i}" for i in range(classes.MOST + 1)])
    assert names(project) == ["a", "b", "c"]


@pytest.mark.parametrize(("position", "expected"), [(0, "cab"), (1, "acb"), (2, "abc"), (99, "abc")])
def test_a_class_moves_to_its_position(project: Project, position: int, expected: str) -> None:
    with project.sessions.begin() as session:
        classes.place(session, classes.find(session, "c").number, position)
    assert names(project) == list(expected)
