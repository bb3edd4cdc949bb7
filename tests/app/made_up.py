"""Small projects and people for tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Person, Standing, Tally, Text, Verdict
from hybridal.app.labelling.source import Source
from hybridal.app.labelling.standing import answered, is_open, stands
from hybridal.app.labelling.tally import NAMES, share_of
from hybridal.app.labelling.verdict import settle
from hybridal.app.people import accounts
from hybridal.app.project import Project


def make(
    folder: Path, texts: int = 20, classes: Iterable[str] = ("a", "b", "c"), *, db: str | None = None, **settings: Any
) -> Project:
    """A project of some texts, with ids t0, t1, ..."""
    rows = [(f"t{i}", f"text {i}", None) for i in range(texts)]
    return Project.create(Source("made up", rows, tuple(classes)), folder, db=db, **settings)


def people(project: Project, n: int, role: str = "annotator") -> list[Person]:
    """Some more people."""
    with project.sessions.begin() as session:
        return [accounts.add(session, f"{role} {i}", role) for i in range(n)]


def me(project: Project) -> Person:
    """The owner."""
    with project.reads() as session:
        return accounts.the_owner(session)


def verdicts(project: Project) -> dict[str, tuple[str, str]]:
    """Class and source of every text that has a verdict."""
    found = select(Text.id, Class.name, Verdict.source).join(Verdict, Verdict.text_row == Text.row)
    with project.reads() as session:
        rows = session.execute(found.join(Class, Class.number == Verdict.class_number))
        return {id: (name, source) for id, name, source in rows}


def check_books(session: Session) -> None:
    """Everything that is kept beside the answers agrees with what follows from them."""
    total = dict.fromkeys(NAMES, 0)
    for text in session.scalars(select(Text)):
        standing = [*stands(session, text).values()]
        verdict, settled = session.get(Verdict, text.row), settle(standing)
        assert (verdict and (verdict.class_number, verdict.source)) == (
            settled and (settled.class_number, settled.source)
        )
        assert (text.answered, text.open) == (answered(standing), is_open(text.wanted, standing))
        for name, n in share_of(text.split, standing).items():
            total[name] += n
    assert {name: getattr(session.get_one(Tally, 1), name) for name in NAMES} == total
    merged = set(session.scalars(select(Class.number).where(Class.became.is_not(None))))
    assert not merged & {
        *session.scalars(select(Standing.class_number)),
        *session.scalars(select(Verdict.class_number)),
    }
