from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from hybridal.app.db.schema import Annotation, Person, Text
from hybridal.app.exchange.label_studio import ImportedAnnotation, ImportedTask, read_tasks
from hybridal.app.exchange.label_studio_export import export_tasks
from hybridal.app.exchange.label_studio_import import Imported, import_tasks
from hybridal.app.exchange.table_files import label_rows
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project

from ..made_up import check_books
from ..postgres import while_waiting
from .projects import NASTY, empty, label, made


def contents(project: Project) -> dict[str, Any]:
    """The labels without times and order."""
    return {
        line["id"]: (
            line["text"],
            line["label"],
            {
                (one["person"], one["action"], one["class"], one["comment"], one["flagged"])
                for one in line["annotations"]
            },
        )
        for line in label_rows(project.reads)
    }


def exported(project: Project) -> list[ImportedTask]:
    return read_tasks(json.loads(b"".join(export_tasks(project.reads))))


def test_exported_annotations_can_be_imported_again(tmp_path: Path, db: str | None) -> None:
    project, other = made(tmp_path), empty(tmp_path, "other", db)
    found = import_tasks(other.sessions, exported(project), as_members=True)
    assert found == Imported(added=10, known=0, labelled=9, unchanged=0)
    expected = contents(project)
    del expected["g"]  # the LLM's answer left as a prediction
    assert contents(other) == expected
    with other.reads() as session:
        check_books(session)
    assert exported(other) == _renumbered(exported(project), exported(other))


def _renumbered(tasks: list[ImportedTask], like: list[ImportedTask]) -> list[ImportedTask]:
    """The same tasks with the numbers and times of the others: only those are new."""
    return [
        ImportedTask(
            task.id,
            task.text,
            tuple(
                replace(one, id=new.id, updated=new.updated)
                for one, new in zip(task.annotations, other.annotations, strict=True)
            ),
        )
        for task, other in zip(tasks, like, strict=True)
    ]


def test_second_import_of_a_file_changes_nothing(tmp_path: Path) -> None:
    project = empty(tmp_path, "other")
    tasks = exported(made(tmp_path))
    import_tasks(project.sessions, tasks)
    with project.reads() as session:
        before = session.scalar(select(func.count()).select_from(Annotation)), counts(session)
    assert import_tasks(project.sessions, tasks) == Imported(added=0, known=10, labelled=0, unchanged=9)
    with project.reads() as session:
        assert (session.scalar(select(func.count()).select_from(Annotation)), counts(session)) == before


def test_into_its_own_project_it_changes_nothing(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        label(session, "Bo", "d", None, flagged=True, comment="what is this?")  # Label Studio knows no such thing
    before = [*label_rows(project.reads)]
    found = import_tasks(project.sessions, exported(project))
    assert found == Imported(added=0, known=10, labelled=0, unchanged=9)
    assert [*label_rows(project.reads)] == before


def test_annotations_made_after_the_export_are_kept(tmp_path: Path) -> None:
    project = made(tmp_path)
    tasks = exported(project)
    with project.sessions.begin() as session:
        [ann] = session.scalars(select(Person).where(Person.name == "Ann"))
        annotate(session, ann, "b", "label", class_name="bug", key="later")
    before = contents(project)
    import_tasks(project.sessions, tasks)
    assert contents(project) == before


def test_changed_annotation_is_imported_and_an_equal_one_is_not(tmp_path: Path) -> None:
    project = made(tmp_path)

    def comes(name: str | None, comment: str = "", flagged: bool = False) -> Imported:
        one = ImportedAnnotation("70", "Ann", name, comment, updated="2030-01-01", flagged=flagged)
        return import_tasks(project.sessions, [ImportedTask("b", NASTY, (one,))], as_members=True)

    assert comes("idea") == comes("idea", "=1+1", flagged=True) == Imported(0, 1, 0, 1)
    assert comes("idea", "other") == Imported(0, 1, 1, 0)
    assert comes("bug") == Imported(0, 1, 1, 0)
    assert contents(project)["b"] == (NASTY, "bug", {("Ann", "label", "bug", "", False)})


@pytest.mark.postgres
def test_annotation_and_import_do_not_deadlock(tmp_path: Path, empty_postgres: str) -> None:
    project = made(tmp_path, empty_postgres)
    tasks = [
        ImportedTask(f"rest {at}", f"Nobody answered {at}.", (ImportedAnnotation(str(at), "Cy", "bug"),))
        for at in range(2)
    ]
    while_waiting(
        project,
        "rest 1",
        lambda: import_tasks(project.sessions, tasks) == Imported(added=0, known=2, labelled=2, unchanged=0),
    )
    with project.reads() as session:
        check_books(session)


def test_tasks_find_their_texts_by_words_when_numbers_clash(tmp_path: Path) -> None:
    rows = [("1", "first", None), ("2", "second", None)]
    project = Project.create(Source("demo", rows, ()), tmp_path / "demo.hybridal")
    label = (ImportedAnnotation("9", "Ann", "bug"),)
    tasks = [
        ImportedTask("2", "first", label),
        ImportedTask("1", "third", label),
        ImportedTask("", "fourth", label),
        ImportedTask("5", "third", label),
    ]
    assert import_tasks(project.sessions, tasks) == Imported(added=2, known=2, labelled=3, unchanged=1)
    with project.reads() as session:
        bodies = dict(session.execute(select(Text.id, Text.body)).all())
    assert (bodies.pop("1"), bodies.pop("2")) == ("first", "second")
    assert sorted(bodies.values()) == ["fourth", "third"]
    assert {text: label for text, label, _ in contents(project).values()} == dict.fromkeys(
        ["first", "third", "fourth"], "bug"
    )


def test_names_in_a_file_match_members_only_if_the_owner_allows_it(tmp_path: Path) -> None:
    project = made(tmp_path)
    vote = ImportedAnnotation("70", "Ann", "bug", "", updated="2030-01-01", decides=True)
    tasks = [ImportedTask("b", NASTY, (vote,))]

    def voters() -> set[tuple[str, str | None]]:
        return {(person, name) for person, _, name, _, _ in contents(project)["b"][2]}

    before = voters()
    for new in (1, 0):
        assert import_tasks(project.sessions, tasks) == Imported(0, 1, new, 1 - new)
    assert voters() == before | {("Ann (Label Studio)", "bug")}
    import_tasks(project.sessions, tasks, as_members=True)
    assert ("Ann", "bug") in voters()


def test_people_created_by_an_import_cannot_sign_in(tmp_path: Path) -> None:
    project = empty(tmp_path)
    names = ["Ann", "me", "(small)", "  spaced   name\x1b ", "x" * 300]
    import_tasks(
        project.sessions, [ImportedTask("1", "a", tuple(ImportedAnnotation(name, name, "bug") for name in names))]
    )
    with project.reads() as session:
        people = {person.name: person for person in session.scalars(select(Person))}
    assert set(people) == {"me", "me (Label Studio)", "Ann", "small)", "spaced name", "x" * 80}
    assert [people[name].active for name in people] == [name == "me" for name in people]
    assert all(person.password is None and person.kind == "person" for person in people.values())


@pytest.mark.parametrize("count", [0, 60])
def test_any_number_of_tasks_is_taken_in(tmp_path: Path, count: int) -> None:
    project = empty(tmp_path)
    tasks = [
        ImportedTask(str(at), f"text {at}", (ImportedAnnotation(str(at), "Ann", f"class {at % 7}"),))
        for at in range(count)
    ]
    assert import_tasks(project.sessions, tasks) == Imported(count, 0, count, 0)
    with project.reads() as session:
        assert counts(session)["labelled"] == count
