"""Small projects and people for tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from hybridal.app.db.schema import Class, Consensus, LabelSet, LabelSetClass, Person, Tally, Text, Vote
from hybridal.app.labelling.consensus import (
    COUNT_NAMES,
    consensus_of,
    consensus_rules,
    count_people,
    counts_of,
    is_open,
    settled_by_text,
    votes_on,
)
from hybridal.app.labelling.removed_classes import merge, rows_to_update, update_texts
from hybridal.app.labelling.text_source import Source
from hybridal.app.people import add_person, project_owner
from hybridal.app.project import READER_FILE, Project
from hybridal.app.project_settings import read

from .copies import copied

CLASSES = ("a", "b", "c")


def make(
    folder: Path, texts: int = 20, classes: Iterable[str] = CLASSES, *, db: str | None = None, **settings: Any
) -> Project:
    """A project of some texts, with ids t0, t1, ...; on SQLite a copy, whose key others have too."""
    options = {"texts": texts, "classes": tuple(classes), **settings}
    return copied(create, folder, **options) if db is None else create(folder, db=db, **options)


def create(
    folder: Path, texts: int = 20, classes: Iterable[str] = CLASSES, *, db: str | None = None, **settings: Any
) -> Project:
    """Create such a project without a copy."""
    rows = [(f"t{i}", f"text {i}", None) for i in range(texts)]
    return Project.create(Source("made up", rows, tuple(classes)), folder, db=db, **settings)


def leave_reader(project: Project, length: int) -> Path:
    """Saves what a trainer saves whose model reads `length` words."""
    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(length)
    tokenizer.save(str(project.folder / READER_FILE))
    return project.folder / READER_FILE


def people(project: Project, n: int, role: str = "annotator") -> list[Person]:
    """Some more people."""
    with project.sessions.begin() as session:
        return [add_person(session, f"{role} {i}", role) for i in range(n)]


def me(project: Project) -> Person:
    """The owner."""
    with project.reads() as session:
        return project_owner(session)


def consensus(project: Project) -> dict[str, tuple[str, str]]:
    """Class and source of every text that has a consensus."""
    found = select(Text.id, Class.name, Consensus.source).join(Consensus, Consensus.text_row == Text.row)
    with project.reads() as session:
        rows = session.execute(found.join(Class, Class.number == Consensus.class_number))
        return {id: (name, source) for id, name, source in rows}


def merge_classes(session: Session, number: int, into: int) -> None:
    """Merge a class into another, including its annotations."""
    merge(session, number, into)
    update_texts(session, rows_to_update(session))


def check_books(session: Session) -> None:
    """Check that all derived rows follow from the annotations."""
    total, rules = dict.fromkeys(COUNT_NAMES, 0), {consensus_rules(session)}
    if read(session)["settled"] >= 0:  # by another rule, and not all texts are yet
        rules = {(majority, per_class) for majority in (True, False) for per_class in (True, False)}
    for text in session.scalars(select(Text)):
        standing = [*votes_on(session, text).values()] if text.deleted is None else []
        settled = settled_by_text(session, [text.row]).get(text.row)
        assert settled in [consensus_of(standing, *rule) for rule in rules]
        asked = text.deleted is None and is_open(text.required_votes, standing)
        assert (text.vote_count, text.open) == (count_people(standing), asked)
        if text.deleted is not None:
            continue
        for name, n in counts_of(text.split, standing, settled).items():
            total[name] += n
    assert {name: getattr(session.get_one(Tally, 1), name) for name in COUNT_NAMES} == total
    gone = Class.merged_into.is_not(None) | (Class.archived == "deleted")
    assert not {*session.scalars(select(Class.number).where(gone))} & {
        *session.scalars(select(Vote.class_number)),
        *session.scalars(select(Consensus.class_number)),
        *(number for table in (Vote, Consensus) for number in _named_by_sets(session, table)),
    }
    partial = select(Vote.partial, LabelSet.classes).join(LabelSet, LabelSet.number == Vote.label_set)
    assert all(some == (not classes.is_whole) for some, classes in session.execute(partial))


def _named_by_sets(session: Session, table: type[Vote] | type[Consensus]) -> Iterable[int]:
    sets = select(table.label_set)
    return session.scalars(select(LabelSetClass.class_number).where(LabelSetClass.set_number.in_(sets)))
