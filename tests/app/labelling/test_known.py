from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hybridal.app.errors import ConflictError
from hybridal.app.labelling.known import Row, new_rows
from hybridal.app.labelling.source import Source
from hybridal.app.project import Project


@pytest.fixture
def three(tmp_path: Path) -> Project:
    """Texts one, two and, again, two."""
    return Project.create(Source("s", [("1", "one", None), ("2", "two", None), ("9", "two", None)]), tmp_path / "p")


def found(project: Project, rows: Sequence[Row], numbered: bool = False) -> list[Row]:
    with project.reads() as session:
        return new_rows(session, rows, numbered)


def test_a_text_is_known_by_its_id(three: Project) -> None:
    assert found(three, [("2", "two", "label"), ("3", "two", None), ("3", "two", None)]) == [("3", "two", None)]


def test_an_id_cannot_be_that_of_two_texts(three: Project) -> None:
    for rows in ([("1", "other", None)], [("new", "a", None), ("new", "b", None)]):
        with pytest.raises(ConflictError, match="is that of another text already"):
            found(three, rows)


def test_rows_without_ids_are_known_by_their_text_and_count_on(three: Project) -> None:
    rows: list[Row] = [("1", "two", None), ("2", "three", "x"), *[(str(i), f"text {i}", None) for i in range(3, 9)]]
    new = found(three, rows, numbered=True)
    assert [id for id, _, _ in new] == ["4", "5", "6", "7", "8", "10", "11"]
    assert new[0] == ("4", "three", "x")


def test_the_first_rows_keep_their_numbers(tmp_path: Path) -> None:
    rows: list[Row] = [("1", "same", None), ("2", "same", None)]
    project = Project.create(Source("s", []), tmp_path / "p")
    assert found(project, rows, numbered=True) == rows
    project.close()
