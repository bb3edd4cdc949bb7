"""A snapshot of the labels in the database, and whether they are enough to update the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, Class, Consensus, Explanation, LabelSet, Text, Trainer, Vote
from hybridal.app.labelling.annotations import MULTI_LABEL
from hybridal.app.labelling.classes import current, current_classes, deleted_classes, examples_of
from hybridal.app.labelling.llm_answers import answers_with_labels
from hybridal.app.labelling.stored_class_sets import Label
from hybridal.app.trainer.learner_labels import learnable
from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN
from hybridal.sentences import Sentence
from hybridal.tasks import Split, Task

# Examples that owners wrote down for classes; each costs as much as a label.
MAX_EXAMPLES_PER_CLASS, MAX_EXAMPLES = 5, 300

Descriptions = Mapping[int, Sequence[str]]
"""Descriptions and examples by class number."""


@dataclass(frozen=True)
class LabelCounts:
    """Counts of labels.

    Attributes:
        new: Pool labels that the model has not learnt, or has learnt differently.
        per_class: All pool labels of each class.
        validation: Labels of validation texts.
        sets: If a text may have several classes, all pool labels; each is a set of classes.
    """

    new: int
    per_class: Sequence[int]
    validation: int
    sets: int | None = None

    @property
    def pool(self) -> int:
        """All pool labels."""
        return sum(self.per_class) if self.sets is None else self.sets

    @property
    def lacking(self) -> int:
        """How many more classes must have a label. With several classes per text a class can be learnt by itself."""
        return max(0, 2 - sum(count > 0 for count in self.per_class)) if self.sets is None else 0


def missing_labels(labels: LabelCounts, trained: bool, batch: int, initial: int) -> int:
    """Return how many more labels the next update needs at least; 0 if it is due.

    The first model needs `initial` labels of at least two classes, and one validation label; each further model needs
    a batch of new labels. With many classes the first labels may all differ, so no class needs more than one.

    >>> missing_labels(LabelCounts(new=5, per_class=(4, 1), validation=3), trained=False, batch=16, initial=8)
    3
    >>> missing_labels(LabelCounts(new=5, per_class=(40, 10), validation=30), trained=True, batch=16, initial=8)
    11
    """
    if trained:
        return max(0, batch - labels.new)
    return max(initial - labels.pool, labels.lacking, 1 - labels.validation, 0)


def refusal(labels: LabelCounts) -> str:
    """Explain why there can be no update at all, even on request; "" if there can be.

    >>> refusal(LabelCounts(new=9, per_class=(9, 0), validation=7))
    'All labels to learn from are of one class; label a text of another class first.'
    """
    if not labels.pool:
        return Sentence("There are no labels to learn from yet; label some texts first.")
    if labels.lacking:
        return Sentence("All labels to learn from are of one class; label a text of another class first.")
    if not labels.validation:
        return Sentence(
            "No validation text has a label yet, so no model could be measured; label a few more texts first."
        )
    return ""


@dataclass(frozen=True)
class Snapshot:
    """The consensus of all texts at one moment.

    Labels of a merged class count for the class that it was merged into. Those of a class that was archived without its
    labels do not count.

    Attributes:
        newest: The number of the newest annotation.
        texts: How many texts there are, without deleted ones.
        classes: Names of the classes to learn, by number and in the order of the numbers.
        pool: Labels of the texts to learn from, by text id: class numbers, or sets of them.
        validation: Labels of the validation texts, by text id.
        reserve: How many texts are set aside for validation, labelled or not, deleted or not.
        deleted: Ids of deleted texts.
        left_out: Ids of texts of the pool that are not learnt because of their look-alikes: their only label is a copy,
            or one of their look-alikes is set aside for validation.
        descriptions: Descriptions and examples of classes, by number.
        multi_label: Whether a text may have several classes.
        by_model: Ids of texts of the pool whose label only a language model gave.
        compared: What a language model answered for texts of the pool that people labelled too, by text id.
    """

    newest: int
    texts: int
    classes: Mapping[int, str]
    pool: Mapping[str, Label]
    validation: Mapping[str, Label]
    reserve: int
    deleted: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    descriptions: Descriptions = field(default_factory=dict)
    multi_label: bool = False
    by_model: frozenset[str] = frozenset()
    compared: Mapping[str, Label] = field(default_factory=dict)

    @property
    def by_people(self) -> dict[str, Label]:
        """Labels of the pool, by text id, without those that only a language model gave."""
        return {id: label for id, label in self.pool.items() if id not in self.by_model}

    @property
    def model_answers(self) -> dict[str, Label]:
        """What a language model answered, by text id: its labels, and the answers that show its errors."""
        return {**{id: label for id, label in self.pool.items() if id in self.by_model}, **self.compared}

    @property
    def descriptions_by_name(self) -> dict[str, tuple[str, ...]]:
        """Descriptions and examples of classes, by name."""
        return {self.classes[number]: tuple(texts) for number, texts in self.descriptions.items()}

    def labels(self, learnt: Mapping[str, Label]) -> LabelCounts:
        """Count the labels, given those that the model has learnt."""
        counts = Counter(
            number
            for label in self.pool.values()
            for number in (label.present if isinstance(label, ClassSet) else [label])
        )
        new = sum(learnt.get(id) != label for id, label in self.pool.items())
        per_class = [counts[number] for number in self.classes]
        return LabelCounts(new, per_class, len(self.validation), len(self.pool) if self.multi_label else None)


class Poll(NamedTuple):
    """The newest annotation's number, the page's request, and the row of a text to explain."""

    newest: int
    request: str
    to_explain: int | None


def poll(session: Session) -> Poll:
    """Read whether there is something to do; this is the only query of an idle trainer."""
    requested = select(Trainer.request).where(Trainer.number == 1).scalar_subquery()
    waiting = select(Explanation.text_row).where(Explanation.round.is_(None)).order_by(Explanation.asked.desc())
    found = select(func.max(Annotation.number), requested, waiting.limit(1).scalar_subquery())
    newest, request, to_explain = session.execute(found).one()
    return Poll(newest or 0, request or "", to_explain)


_LEARNT = (Class.merged_into.is_(None), Class.archived.in_(("", "kept")))


def loadable(session: Session) -> tuple[int, bool]:
    """Read the newest text's row, and whether there are two classes, which a model needs."""
    active = select(func.count()).select_from(Class).where(*_LEARNT).scalar_subquery()
    newest, classes = session.execute(select(func.max(Text.row), active)).one()
    return newest or 0, classes >= 2


def learnt_classes(session: Session) -> dict[int, str]:
    """Read the names of the classes to learn, by number and in the order of the numbers."""
    learnt = select(Class.number, Class.name).where(*_LEARNT).order_by(Class.number)
    return dict(session.execute(learnt).all())


# An answer that was copied is learnt once. A text is not learnt if a look-alike of it measures the model.
_OTHER = aliased(Text)
_MEASURED = select(_OTHER.look_alike_of).where(
    _OTHER.split == "validation", _OTHER.deleted.is_(None), _OTHER.look_alike_of.is_not(None)
)
_OWN_VOTE = aliased(Vote)
_ANSWERED = select(_OWN_VOTE).where(
    _OWN_VOTE.text_row == Vote.text_row,
    ~_OWN_VOTE.copied,
    or_(_OWN_VOTE.class_number.is_not(None), _OWN_VOTE.label_set.is_not(None)),
)
_ONLY_COPIED = select(Vote.text_row).where(Vote.copied, ~_ANSWERED.exists())
_LEFT_OUT = select(Text.id).where(
    Text.split == "pool",
    Text.deleted.is_(None),
    or_(Text.row.in_(_ONLY_COPIED), Text.look_alike_of.in_(_MEASURED)),
)
# Of look-alikes that are set aside, the first labelled one in the order of the texts measures.
_FIRST = (
    select(func.min(_OTHER.row))
    .join(Consensus, Consensus.text_row == _OTHER.row)
    .where(_OTHER.split == "validation", _OTHER.deleted.is_(None), _OTHER.look_alike_of == Text.look_alike_of)
    .scalar_subquery()
)
_REPEATED = select(Text.id).where(
    Text.split == "validation", Text.deleted.is_(None), Text.look_alike_of.is_not(None), Text.row != _FIRST
)


def snapshot(session: Session) -> Snapshot:
    """Read the snapshot. The newest annotation is read first, so that a later one is learnt again, never missed."""
    newest = session.scalar(select(func.max(Annotation.number))) or 0
    left_out = frozenset(session.scalars(_LEFT_OUT))
    repeated = frozenset(session.scalars(_REPEATED))
    given = select(Text.id, Text.split, Consensus.class_number, LabelSet.classes, Consensus.source)
    given = given.join(Text, Text.row == Consensus.text_row)
    given = given.outerjoin(LabelSet, LabelSet.number == Consensus.label_set)
    consensus = session.execute(given.order_by(Consensus.annotation_number, Consensus.text_row)).all()
    classes = learnt_classes(session)
    now, gone = current_classes(session), deleted_classes(session)
    splits: dict[str, dict[str, Label]] = {"pool": {}, "validation": {}}
    reduced: dict[Label, Label | None] = {}  # many texts have the same label

    def reduce(label: Label) -> Label | None:
        if label not in reduced:
            named = label.renamed(now, gone) if isinstance(label, ClassSet) else now[label]
            reduced[label] = learnable(named, classes)
        return reduced[label]

    by_model: set[str] = set()
    for id, split, number, several, source in consensus:
        left = reduce(number if several is None else several)
        if left is not None and id not in left_out and id not in repeated:
            splits[split][id] = left
            if source == "llm":
                by_model.add(id)
    deleted = frozenset(session.scalars(select(Text.id).where(Text.deleted.is_not(None))))
    every = session.scalar(select(func.count()).select_from(Text)) or 0
    reserve = session.scalar(select(func.count()).where(Text.split == "validation")) or 0
    descriptions = {number: texts for number, texts in class_descriptions(session).items() if number in classes}
    pool, validation = splits.values()
    answers = {id: reduce(label) for id, label in answers_with_labels(session).items() if id in pool}
    return Snapshot(
        newest,
        every - len(deleted),
        classes,
        pool,
        validation,
        reserve,
        deleted,
        left_out,
        descriptions,
        multi_label=bool(session.scalar(MULTI_LABEL)),
        by_model=frozenset(by_model),
        compared={id: label for id, label in answers.items() if label is not None},
    )


def labelled_ids(session: Session) -> list[str]:
    """Ids of all texts that have a consensus."""
    return [*session.scalars(select(Text.id).join(Consensus, Consensus.text_row == Text.row).order_by(Text.row))]


def class_descriptions(session: Session) -> Descriptions:
    """Read the descriptions of the classes, and some of their examples."""
    there = current(session)
    each = min(MAX_EXAMPLES_PER_CLASS, MAX_EXAMPLES // max(1, len(there)))
    written = {one.number: [one.description.strip(), *examples_of(one)[:each]] for one in there}
    return {number: tuple(text for text in texts if text) for number, texts in written.items() if any(texts)}


def task_of(session: Session, name: str, now: Snapshot) -> Task:
    """Build a task of all texts without labels; labels are taught, so that they can be corrected."""
    rows: dict[str, tuple[list[str], list[str]]] = {"pool": ([], []), "validation": ([], [])}
    given = select(Text.id, Text.body, Text.split).where(Text.deleted.is_(None)).order_by(Text.row)
    for id, body, split in session.execute(given):
        rows[split][0].append(id)
        rows[split][1].append(body)

    def unlabelled(split: str) -> Split:
        ids, bodies = rows[split]
        return Split(ids, bodies, np.full(len(ids), UNKNOWN, dtype=np.int64))

    classes = tuple(now.classes.values())
    sets = LabelSets(len(classes)) if now.multi_label else None
    task = Task(name, classes, unlabelled("pool"), unlabelled("validation"), Split.empty(), label_sets=sets)
    return task.with_descriptions(now.descriptions_by_name)
