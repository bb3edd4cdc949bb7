"""How well the newest model finds each class: precision and recall with intervals, and which classes it confuses.

Only validation texts count: they are drawn at random, and the model never learns them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Consensus, LabelSet, Prediction, Text
from hybridal.app.labelling.classes import current, current_classes
from hybridal.app.labelling.learnt_predictions import FROM_LABELS
from hybridal.app.project_settings import read
from hybridal.measures.certainty import wilson

MIN_TEXTS = 10  # with fewer, the interval of a share is up to 60 points wide


@dataclass(frozen=True)
class Share:
    """A share of texts with its 95% Wilson interval; `value`, `low` and `high` are None with too few texts to tell."""

    part: int
    of: int
    value: float | None
    low: float | None
    high: float | None


def share(part: int, of: int) -> Share:
    """The share of `part` in `of` texts.

    >>> found = share(9, 10)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.9, 0.596, 0.982)
    >>> share(9, 9).value is None
    True
    """
    if of < MIN_TEXTS:
        return Share(part, of, None, None, None)
    low, high = wilson(part, of)
    return Share(part, of, part / of, low, high)


@dataclass(frozen=True)
class ClassQuality:
    """How well the model finds a class.

    Attributes:
        name: The class.
        threshold: If a text may have several classes: the probability from which the model gives this one.
        texts: How many validation texts have it.
        given: To how many of those that decide it the model gives it.
        precision: Of these, the share of those that have it.
        recall: Of the texts that have it, the share of those to which the model gives it.
    """

    name: str
    threshold: float | None
    texts: int
    given: int
    precision: Share
    recall: Share


@dataclass(frozen=True)
class MatrixCell:
    """How many texts have the class `label` where the model gives `predicted`.

    If a text may have several classes, these are the texts that have `label` and not `predicted`, where the model gives
    `predicted` and not `label`; one of them is None if the model only misses a class, or only gives one too many.
    """

    label: str | None
    predicted: str | None
    texts: int


@dataclass(frozen=True)
class QualityReport:
    """The quality of each class on `texts` validation texts, and the cells of the confusion matrix that have texts.

    `groups` has the same of each group of classes: a text has a group if it has one of its classes. It is empty if no
    class is in a group.
    """

    texts: int
    classes: tuple[ClassQuality, ...]
    cells: tuple[MatrixCell, ...]
    groups: tuple[ClassQuality, ...] = ()


def class_quality(session: Session) -> QualityReport:
    """The quality of the newest model on each class that it learns."""
    known = [one for one in current(session) if one.archived != "out"]
    counted = _labels_and_sets(session) if read(session)["multi_label"] else _labels_and_classes(session)
    thresholds = {one.name: one.threshold for one in known}
    report = quality_report(counted, {one.number: one.name for one in known}, thresholds)
    groups = group_quality(counted, {one.number: (one.name, one.group) for one in known})
    return replace(report, groups=groups)


def group_quality(
    counted: Mapping[tuple[ClassSet, frozenset[int]], int], classes: Mapping[int, tuple[str, str]]
) -> tuple[ClassQuality, ...]:
    """The quality of each group; the classes that are in none count by themselves, after all groups.

    Args:
        counted: See `quality_report`.
        classes: Name and group of each class, by number and in their order.

    Example:
        >>> counted = {(ClassSet.of([1]), frozenset([2])): 19, (ClassSet.of([3]), frozenset([1])): 1}
        >>> found = group_quality(counted, {1: ("apple", "fruit"), 2: ("pear", "fruit"), 3: ("other", "")})
        >>> [(one.name, one.texts, one.precision.value) for one in found]
        [('fruit', 19, 0.95), ('other', 1, None)]
    """
    first: dict[str, int] = {}
    for number, (_, group) in classes.items():
        if group:
            first.setdefault(group, number)
    if not first:
        return ()
    group_of = {number: first.get(group, number) for number, (_, group) in classes.items()}
    merged: Counter[tuple[ClassSet, frozenset[int]]] = Counter()
    for (label, predicted), times in counted.items():
        numbers = {number: group_of.get(number, number) for number in label.classes | predicted}
        merged[label.renamed(numbers, frozenset()), frozenset(numbers[one] for one in predicted)] += times
    names = {number: group for group, number in first.items()}
    names |= {number: name for number, (name, group) in classes.items() if not group}
    return quality_report(merged, names, {}).classes


def quality_report(
    counted: Mapping[tuple[ClassSet, frozenset[int]], int],
    names: Mapping[int, str],
    thresholds: Mapping[str, float | None],
) -> QualityReport:
    """Compare labels with predictions.

    Args:
        counted: How many texts have this label and these predicted classes.
        names: The names of the classes, by number and in their order; labels with no others are left out.
        thresholds: The thresholds of the classes, by name.

    Example:
        >>> counted = {(ClassSet.of([1]), frozenset([1])): 18, (ClassSet.of([1]), frozenset([2])): 2}
        >>> found = quality_report(counted, {1: "bug", 2: "idea"}, {})
        >>> [one.recall.value for one in found.classes], found.cells[1]
        ([0.9, None], MatrixCell(label='bug', predicted='idea', texts=2))
    """
    texts, given, hits = Counter[int](), Counter[int](), Counter[int]()
    cells: Counter[tuple[int | None, int | None]] = Counter()
    total = 0
    for (label, predicted), times in counted.items():
        present = label.present & names.keys()
        if label.present and not present:  # its class is archived, and the model does not learn it
            continue
        total += times
        decided = {number for number in predicted & names.keys() if label.decision(number) is not None}
        missed, wrong = present - predicted, decided - present
        for counts, numbers in ((texts, present), (given, decided), (hits, present & decided)):
            counts.update(dict.fromkeys(numbers, times))
        cells.update({(number, number): times for number in present & decided})
        if missed or wrong:
            cells.update({(one, other): times for one in missed or [None] for other in wrong or [None]})
    order = {number: at for at, number in enumerate(names)}
    found = sorted(cells, key=lambda cell: tuple(len(order) if one is None else order[one] for one in cell))
    return QualityReport(
        total,
        tuple(
            ClassQuality(
                name,
                thresholds.get(name),
                texts[number],
                given[number],
                share(hits[number], given[number]),
                share(hits[number], texts[number]),
            )
            for number, name in names.items()
        ),
        tuple(MatrixCell(_name(names, cell[0]), _name(names, cell[1]), cells[cell]) for cell in found),
    )


def _name(names: Mapping[int, str], number: int | None) -> str | None:
    return None if number is None else names[number]


def _labels_and_classes(session: Session) -> Mapping[tuple[ClassSet, frozenset[int]], int]:
    """How many validation texts have a class as label and one as prediction."""
    rows = session.execute(
        select(Consensus.class_number, Prediction.class_number, func.count())
        .join(Prediction, Prediction.text_row == Consensus.text_row)
        .join(Text, Text.row == Consensus.text_row)
        .where(FROM_LABELS, Text.split == "validation", Consensus.class_number.is_not(None))
        .group_by(Consensus.class_number, Prediction.class_number)
    )
    now = current_classes(session)
    pairs = ((now[label], now[given], times) for label, given, times in rows if label is not None)
    return _summed((ClassSet.of([label]), frozenset([given]), times) for label, given, times in pairs)


def _labels_and_sets(session: Session) -> Mapping[tuple[ClassSet, frozenset[int]], int]:
    """The same for sets of classes."""
    label, given = aliased(LabelSet), aliased(LabelSet)
    rows = session.execute(
        select(label.classes, given.classes)
        .select_from(Consensus)
        .join(label, label.number == Consensus.label_set)
        .join(Prediction, Prediction.text_row == Consensus.text_row)
        .join(given, given.number == Prediction.label_set)
        .join(Text, Text.row == Consensus.text_row)
        .where(FROM_LABELS, Text.split == "validation")
    )
    return _summed((one, other.present, 1) for one, other in rows)


def _summed(
    found: Iterable[tuple[ClassSet, frozenset[int], int]],
) -> Mapping[tuple[ClassSet, frozenset[int]], int]:
    counts: Counter[tuple[ClassSet, frozenset[int]]] = Counter()
    for label, given, times in found:
        counts[label, given] += times
    return counts
