"""What the database says at one moment, read in one go, and whether that is enough to update the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Annotation, Class, Consensus, Text, Trainer
from hybridal.app.labelling.classes import current, current_classes, examples_of
from hybridal.core.outputs import UNKNOWN
from hybridal.tasks import Split, Task

EXAMPLES, IN_ALL = (
    5,
    300,
)  # of a class that are learnt at most, and of all classes: each is read and learnt like a label

Meanings = Mapping[int, Sequence[str]]
"""What was written down of classes, by their numbers."""


@dataclass(frozen=True)
class LabelCounts:
    """What could be learnt now.

    `new` pool labels are unknown to the model, or known to it otherwise; `per_class` counts all pool labels of each
    class; `validation` counts those that are only measured on.
    """

    new: int
    per_class: Sequence[int]
    validation: int


def missing_labels(labels: LabelCounts, trained: bool, batch: int, initial: int) -> int:
    """How many more labels the next update waits for, at least; 0: it is due.

    The first model needs `initial` labels of at least two classes, and one to be measured on; each further one needs
    a batch of new ones. With many classes the first labels may all differ, so no class needs more than one.

    >>> missing_labels(LabelCounts(new=5, per_class=(4, 1), validation=3), trained=False, batch=16, initial=8)
    3
    >>> missing_labels(LabelCounts(new=5, per_class=(40, 10), validation=30), trained=True, batch=16, initial=8)
    11
    """
    if trained:
        return max(0, batch - labels.new)
    classes = sum(count > 0 for count in labels.per_class)
    return max(initial - sum(labels.per_class), 2 - classes, 1 - labels.validation, 0)


def refusal(labels: LabelCounts) -> str:
    """Why not even somebody who asks for an update gets one; empty where they do.

    >>> refusal(LabelCounts(new=9, per_class=(9, 0), validation=7))
    'All labels to learn from are of one class; label a text of another class first.'
    """
    if not sum(labels.per_class):
        return "There are no labels to learn from yet; label some texts first."
    if sum(count > 0 for count in labels.per_class) < 2:
        return "All labels to learn from are of one class; label a text of another class first."
    if not labels.validation:
        return "No validation text has a label yet, so no model could be measured; label a few more texts first."
    return ""


@dataclass(frozen=True)
class Snapshot:
    """All consensus, as class numbers by text id, with the newest `answer` that they rest on.

    `classes` names those to learn in the order of their numbers, and `meanings` are what owners wrote down of them. A
    consensus of a class that was merged counts for the class it became; one of a class that is archived without its
    labels does not count. `reserve` counts the texts that are set aside for validation, labelled or not, deleted or
    not. `texts` counts those that are not `deleted`.
    """

    answer: int
    texts: int
    classes: Mapping[int, str]
    pool: Mapping[str, int]
    validation: Mapping[str, int]
    reserve: int
    deleted: frozenset[str] = frozenset()
    meanings: Meanings = field(default_factory=dict)

    @property
    def meant(self) -> dict[str, tuple[str, ...]]:
        """What was written down of classes, by their names."""
        return {self.classes[number]: tuple(texts) for number, texts in self.meanings.items()}

    def labels(self, learnt: Mapping[str, int]) -> LabelCounts:
        """How much of it is new to a model that has learnt these."""
        counts = Counter(self.pool.values())
        new = sum(learnt.get(id) != number for id, number in self.pool.items())
        return LabelCounts(new, [counts[number] for number in self.classes], len(self.validation))


def poll(session: Session) -> tuple[int, str]:
    """The newest answer's number and what the page asks for: all that is looked at while nothing happens."""
    asked = select(Trainer.asked).where(Trainer.number == 1).scalar_subquery()
    newest, request = session.execute(select(func.max(Annotation.number), asked)).one()
    return newest or 0, request or ""


_LEARNT = (Class.became.is_(None), Class.archived.in_(("", "kept")))


def loadable(session: Session) -> tuple[int, bool]:
    """The newest text's row, and whether there are classes to tell apart: enough to load a model for."""
    active = select(func.count()).select_from(Class).where(*_LEARNT).scalar_subquery()
    newest, classes = session.execute(select(func.max(Text.row), active)).one()
    return newest or 0, classes >= 2


def snapshot(session: Session) -> Snapshot:
    """Reads the database, in an order in which what comes in between can only be new, never missing."""
    newest = session.scalar(select(func.max(Annotation.number))) or 0
    given = select(Text.id, Text.split, Consensus.class_number).join(Text, Text.row == Consensus.text_row)
    consensus = session.execute(given.order_by(Consensus.changed, Consensus.text_row)).all()
    learnt = select(Class.number, Class.name).where(*_LEARNT).order_by(Class.number)
    classes: dict[int, str] = dict(session.execute(learnt).all())
    now = current_classes(session)
    splits: dict[str, dict[str, int]] = {"pool": {}, "validation": {}}
    for id, split, number in consensus:
        if now[number] in classes:
            splits[split][id] = now[number]
    deleted = frozenset(session.scalars(select(Text.id).where(Text.deleted.is_not(None))))
    every = session.scalar(select(func.count()).select_from(Text)) or 0
    reserve = session.scalar(select(func.count()).where(Text.split == "validation")) or 0
    meanings = {number: texts for number, texts in class_meanings(session).items() if number in classes}
    pool, validation = splits.values()
    return Snapshot(newest, every - len(deleted), classes, pool, validation, reserve, deleted, meanings)


def labelled_ids(session: Session) -> list[str]:
    """Ids of all texts that have a consensus."""
    return [*session.scalars(select(Text.id).join(Consensus, Consensus.text_row == Text.row).order_by(Text.row))]


def class_meanings(session: Session) -> Meanings:
    """Descriptions of the classes, and some of their examples."""
    there = current(session)
    each = min(EXAMPLES, IN_ALL // max(1, len(there)))
    written = {one.number: [one.description.strip(), *examples_of(one)[:each]] for one in there}
    return {number: tuple(text for text in texts if text) for number, texts in written.items() if any(texts)}


def task_of(session: Session, name: str, now: Snapshot) -> Task:
    """All texts, none of them labelled: labels are taught, so that they can be corrected."""
    rows: dict[str, tuple[list[str], list[str]]] = {"pool": ([], []), "validation": ([], [])}
    given = select(Text.id, Text.body, Text.split).where(Text.deleted.is_(None)).order_by(Text.row)
    for id, body, split in session.execute(given):
        rows[split][0].append(id)
        rows[split][1].append(body)

    def unlabelled(split: str) -> Split:
        ids, bodies = rows[split]
        return Split(ids, bodies, np.full(len(ids), UNKNOWN, dtype=np.int64))

    task = Task(name, tuple(now.classes.values()), unlabelled("pool"), unlabelled("validation"), Split.empty())
    return task.described(now.meant)
