from pathlib import Path

from sqlalchemy import select

from hybridal.app.db.schema import Person
from hybridal.app.exchange.labels import COLUMNS, labels
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.source import Source
from hybridal.app.project import Project

from .projects import NASTY, made


def test_every_text_that_somebody_answered_comes_with_all_that_was_said(tmp_path: Path, db: str | None) -> None:
    lines = {line["id"]: line for line in labels(made(tmp_path, db).reads)}
    assert [*lines] == [*"abcdefg"]
    assert {id: (line["label"], line["source"]) for id, line in lines.items()} == {
        "a": ("bug", "people"),
        "b": ("idea", "people"),
        "c": (None, None),
        "d": (None, None),
        "e": ("idea", "adjudicated"),
        "f": ("bug", "file"),
        "g": ("idea", "llm"),
    }
    assert (lines["b"]["text"], lines["b"]["flagged"], lines["b"]["comments"]) == (NASTY, True, "Ann: =1+1")
    said = [(one["person"], one["action"], one["class"]) for one in lines["e"]["answers"]]
    assert said == [("Ann", "label", "idea"), ("Bo", "label", "bug"), ("me", "adjudicate", "idea")]
    assert lines["d"]["answers"][0]["class"] is None
    assert lines["c"]["at"] == max(one["at"] for one in lines["c"]["answers"])
    assert all(tuple(line) == COLUMNS for line in lines.values())


def test_many_texts_come_page_by_page_and_none_twice(tmp_path: Path) -> None:
    rows = [(f"t{at}", f"text {at}", "x" if at % 2 else None) for at in range(2100)]
    project = Project.create(Source("many", rows, ("x", "y")), tmp_path / "many.hybridal")
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        for at in (1, 2, 999, 1000, 2098):
            answer(session, me, f"t{at}", "label", class_name="y", key=str(at))
    lines = [*labels(project.reads)]
    expected = [f"t{at}" for at in range(2100) if at % 2 or at in (2, 1000, 2098)]
    assert [line["id"] for line in lines] == expected
    assert [line["id"] for line in lines if line["label"] == "y"] == ["t1", "t2", "t999", "t1000", "t2098"]
    assert [len(line["answers"]) for line in lines if line["id"] == "t999"] == [2]


def test_an_untouched_project_has_no_labels(tmp_path: Path) -> None:
    project = Project.create(Source("demo", [("a", "x", None)], ()), tmp_path / "demo.hybridal")
    assert [*labels(project.reads)] == []
