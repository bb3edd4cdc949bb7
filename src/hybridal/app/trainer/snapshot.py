"""What the database says at one moment: read in one go, so that no transaction is open while the model computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Answer, Class, Text, Trainer, Verdict
from hybridal.app.trainer.due import Labels
from hybridal.core.outputs import UNKNOWN
from hybridal.tasks import Split, Task


@dataclass(frozen=True)
class Snapshot:
    """All verdicts, as class numbers by text id, with the newest `answer` that they rest on.

    `classes` names the active ones in the order of their numbers. A verdict of a class that was merged counts for the
    class it became.
    """

    answer: int
    texts: int
    classes: Mapping[int, str]
    pool: Mapping[str, int]
    validation: Mapping[str, int]

    def labels(self, learnt: Mapping[str, int]) -> Labels:
        """How much of it is new to a model that has learnt these."""
        counts = Counter(self.pool.values())
        new = sum(learnt.get(id) != number for id, number in self.pool.items())
        return Labels(new, [counts[number] for number in self.classes], len(self.validation))


def glance(session: Session) -> tuple[int, str]:
    """The newest answer's number and what the page asks for: all that is looked at while nothing happens."""
    asked = select(Trainer.asked).where(Trainer.number == 1).scalar_subquery()
    newest, wish = session.execute(select(func.max(Answer.number), asked)).one()
    return newest or 0, wish or ""


def what_there_is(session: Session) -> tuple[int, bool]:
    """The newest text's row, and whether there are classes to tell apart: enough to load a model for."""
    active = select(func.count()).select_from(Class).where(Class.became.is_(None)).scalar_subquery()
    newest, classes = session.execute(select(func.max(Text.row), active)).one()
    return newest or 0, classes >= 2


def snapshot(session: Session) -> Snapshot:
    """Reads the database, in an order in which what comes in between can only be new, never missing."""
    newest = session.scalar(select(func.max(Answer.number))) or 0
    given = select(Text.id, Text.split, Verdict.class_number).join(Text, Text.row == Verdict.text_row)
    verdicts = session.execute(given.order_by(Verdict.changed, Verdict.text_row)).all()
    rows = session.execute(select(Class.number, Class.name, Class.became).order_by(Class.number)).all()
    texts = session.scalar(select(func.count()).select_from(Text)) or 0
    now = current({number: became for number, _, became in rows})
    splits: dict[str, dict[str, int]] = {"pool": {}, "validation": {}}
    for id, split, number in verdicts:
        splits[split][id] = now[number]
    classes = {number: name for number, name, became in rows if became is None}
    return Snapshot(newest, texts, classes, splits["pool"], splits["validation"])


def meanings(session: Session) -> dict[int, int]:
    """The active class that each class number stands for now."""
    rows = session.execute(select(Class.number, Class.became))
    return current(dict(rows.all()))


def current(became: Mapping[int, int | None]) -> dict[int, int]:
    """The active class that each class stands for, itself where it was never merged.

    >>> current({1: None, 2: 3, 3: 1})
    {1: 1, 2: 1, 3: 1}
    """

    def end(number: int) -> int:
        further = became[number]
        return number if further is None else end(further)

    return {number: end(number) for number in became}


def task_of(session: Session, name: str, classes: Sequence[str]) -> Task:
    """All texts, none of them labelled: labels are taught, so that they can be corrected."""
    rows: dict[str, tuple[list[str], list[str]]] = {"pool": ([], []), "validation": ([], [])}
    for id, body, split in session.execute(select(Text.id, Text.body, Text.split).order_by(Text.row)):
        rows[split][0].append(id)
        rows[split][1].append(body)

    def unlabelled(split: str) -> Split:
        ids, bodies = rows[split]
        return Split(ids, bodies, np.full(len(ids), UNKNOWN, dtype=np.int64))

    return Task(name, tuple(classes), unlabelled("pool"), unlabelled("validation"), Split.empty())
