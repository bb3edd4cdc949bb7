"""A small project with every kind of annotation."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Person, Prediction, Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import GivenRow
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project

from ..copies import copied

NASTY = '=HYPERLINK("http://x")\n<script>alert(1)</script>,"quoted" \'; DROP TABLE texts;-- \t\x1b[31m ünïcødé 😀'


def empty(folder: Path, name: str = "demo", db: str | None = None) -> Project:
    """A project without texts and classes."""
    place = folder / f"{name}.hybridal"
    return copied(_empty, place) if db is None else _empty(place, db)


def made(folder: Path, db: str | None = None) -> Project:
    """Ann and Bo label, differ, skip, flag and comment; a file and an LLM label too; some texts have no annotation."""
    place = folder / "demo.hybridal"
    return copied(_made, place) if db is None else _made(place, db)


def _empty(folder: Path, db: str | None = None) -> Project:
    return Project.create(Source("demo", [], ()), folder, db=db)


def _made(folder: Path, db: str | None = None) -> Project:
    rows: list[GivenRow] = [("a", "It crashes.", None), ("b", NASTY, None), ("c", "Add a button.", None)]
    rows += [("d", "Hm.", None)]
    rows += [("e", "Decided.", None), ("f", "From the file.", "bug"), ("g", "For the LLM.", None)]
    rows += [(f"rest {at}", f"Nobody answered {at}.", None) for at in range(3)]
    project = Project.create(Source("demo", rows, ("bug", "idea")), folder, db=db)
    with project.sessions.begin() as session:
        session.add_all([Person(name="Ann"), Person(name="Bo")])
        session.flush()
        label(session, "Ann", "a", "bug", comment="clear")
        label(session, "Bo", "a", "bug")
        label(session, "Ann", "b", "idea", flagged=True, comment="=1+1")
        label(session, "Ann", "c", "idea")
        label(session, "Bo", "c", "bug", comment="not sure")
        label(session, "Ann", "d", None)
        label(session, "Ann", "e", "idea")
        label(session, "Bo", "e", "bug")
        label(session, "me", "e", "idea", decides=True)
        annotate(
            session,
            machine_annotator(session, "(small)", "llm"),
            "g",
            "label",
            class_name="idea",
            comment="It asks.",
            key="llm",
        )
        prediction(session, "a", "bug", 0.75)
        prediction(session, "rest 1", "idea", 0.5)
    return project


def label(
    session: Session,
    who: str,
    id: str,
    name: str | None,
    *,
    flagged: bool = False,
    comment: str = "",
    decides: bool = False,
) -> None:
    person = session.scalars(select(Person).where(Person.name == who)).one()
    action = "skip" if name is None else "label"
    given = {"class_name": name, "flagged": flagged, "comment": comment, "decides": decides}
    annotate(session, person, id, action, key=f"{who}-{id}", **given)  # type: ignore[arg-type]


def prediction(session: Session, id: str, name: str, probability: float) -> None:
    row = session.scalars(select(Text.row).where(Text.id == id)).one()
    number = session.scalars(select(Class.number).where(Class.name == name)).one()
    session.add(Prediction(text_row=row, class_number=number, probability=probability, entropy=0.1, round=3))
