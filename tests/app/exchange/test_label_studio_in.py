import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from hybridal.app.db.schema import Answer, Person, Text
from hybridal.app.exchange.label_studio_in import Imported, import_tasks
from hybridal.app.exchange.label_studio_out import as_json
from hybridal.app.exchange.label_studio_tasks import Annotation, Task, read_tasks
from hybridal.app.exchange.labels import labels
from hybridal.app.labelling.source import Source
from hybridal.app.labelling.tally import counts
from hybridal.app.project import Project

from ..made_up import check_books
from .projects import empty, made


def said(project: Project) -> dict[str, Any]:
    """What matters of the labels: not when, nor in which order, people spoke."""
    return {
        line["id"]: (
            line["text"],
            line["label"],
            {(one["person"], one["action"], one["class"], one["comment"]) for one in line["answers"]},
        )
        for line in labels(project.reads)
    }


def exported(project: Project) -> list[Task]:
    return read_tasks(json.loads(b"".join(as_json(project.reads))))


def test_what_was_exported_comes_in_again(tmp_path: Path, db: str | None) -> None:
    project, other = made(tmp_path), empty(tmp_path, "other", db)
    found = import_tasks(other.sessions, exported(project))
    assert found == Imported(added=10, known=0, labelled=9)
    expected = said(project)
    del expected["g"]  # the LLM's answer left as a prediction
    assert said(other) == expected
    with other.reads() as session:
        check_books(session)
    assert exported(other) == _renumbered(exported(project), exported(other))


def _renumbered(tasks: list[Task], like: list[Task]) -> list[Task]:
    """The same tasks with the numbers and times of the others: only those are new."""
    return [
        Task(
            task.id,
            task.text,
            tuple(
                Annotation(new.id, one.person, one.class_name, one.comment, one.decides, new.updated)
                for one, new in zip(task.annotations, other.annotations, strict=True)
            ),
        )
        for task, other in zip(tasks, like, strict=True)
    ]


def test_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    project = empty(tmp_path, "other")
    tasks = exported(made(tmp_path))
    import_tasks(project.sessions, tasks)
    with project.reads() as session:
        before = session.scalar(select(func.count()).select_from(Answer)), counts(session)
    assert import_tasks(project.sessions, tasks) == Imported(added=0, known=10, labelled=9)
    with project.reads() as session:
        assert (session.scalar(select(func.count()).select_from(Answer)), counts(session)) == before


def test_into_its_own_project_nothing_is_lost(tmp_path: Path) -> None:
    project = made(tmp_path)
    before = said(project)
    import_tasks(project.sessions, exported(project))
    assert said(project) == before


def test_tasks_find_their_texts_by_words_when_numbers_clash(tmp_path: Path) -> None:
    rows = [("1", "first", None), ("2", "second", None)]
    project = Project.create(Source("demo", rows, ()), tmp_path / "demo.hybridal")
    label = (Annotation("9", "Ann", "bug"),)
    tasks = [Task("2", "first", label), Task("1", "third", label), Task("", "fourth", label), Task("5", "third", label)]
    assert import_tasks(project.sessions, tasks) == Imported(added=2, known=2, labelled=4)
    with project.reads() as session:
        bodies = dict(session.execute(select(Text.id, Text.body)).all())
    assert (bodies.pop("1"), bodies.pop("2")) == ("first", "second")
    assert sorted(bodies.values()) == ["fourth", "third"]
    assert {text: label for text, label, _ in said(project).values()} == dict.fromkeys(
        ["first", "third", "fourth"], "bug"
    )


def test_people_who_come_with_a_file_cannot_sign_in(tmp_path: Path) -> None:
    project = empty(tmp_path)
    names = ["Ann", "me", "(small)", "  spaced   name\x1b ", "x" * 300]
    import_tasks(project.sessions, [Task("1", "a", tuple(Annotation(name, name, "bug") for name in names))])
    with project.reads() as session:
        people = {person.name: person for person in session.scalars(select(Person))}
    assert set(people) == {"me", "Ann", "small)", "spaced name", "x" * 80}
    assert [people[name].active for name in people] == [name == "me" for name in people]
    assert all(person.password is None and person.kind == "person" for person in people.values())


@pytest.mark.parametrize("count", [0, 60])
def test_any_number_of_tasks_is_taken_in(tmp_path: Path, count: int) -> None:
    project = empty(tmp_path)
    tasks = [Task(str(at), f"text {at}", (Annotation(str(at), "Ann", f"class {at % 7}"),)) for at in range(count)]
    assert import_tasks(project.sessions, tasks) == Imported(count, 0, count)
    with project.reads() as session:
        assert counts(session)["labelled"] == count
