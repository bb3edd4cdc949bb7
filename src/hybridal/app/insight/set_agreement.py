"""Agreement between annotators who may give several classes: Krippendorff's α with MASI distance, and who differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np

from hybridal.app.insight.annotator_agreement import (
    Agreement,
    AgreementReport,
    Array,
    Pair,
    PersonAgreement,
    agreement,
)
from hybridal.app.insight.class_agreement import (
    ClassAgreement,
    SetAnswer,
    SetRating,
    class_agreements,
    decision_on,
)


def masi_distances(sets: Sequence[frozenset[str]]) -> Array:
    """The MASI distance of each set to each other (Passonneau 2006): 1 − Jaccard similarity × monotonicity.

    Monotonicity is 1 for equal sets, 2/3 if one contains the other, 1/3 if they overlap, and 0 if they are disjoint.
    Two empty sets are equal; an empty set and another are disjoint.

    >>> masi_distances([frozenset("ab"), frozenset("a"), frozenset("bc"), frozenset()]).round(3).tolist()[0]
    [0.0, 0.667, 0.889, 1.0]
    """
    columns = {name: at for at, name in enumerate(sorted({name for one in sets for name in one}))}
    has = np.zeros((len(sets), len(columns)))
    for row, one in enumerate(sets):
        has[row, [columns[name] for name in one]] = 1
    sizes, shared = has.sum(axis=1), has @ has.T
    union, smaller = sizes[:, None] + sizes - shared, np.minimum(sizes[:, None], sizes)
    equal, contained = shared == union, shared == smaller
    monotone = np.where(equal, 1, np.where(contained, 2 / 3, 1 / 3)) * ((shared > 0) | equal)
    return np.asarray(1 - np.where(equal, 1, shared / np.maximum(union, 1)) * monotone)


@dataclass(frozen=True)
class Contested:
    """How often only person `one`, and how often only the other person, gave a class to a text that both decided."""

    name: str
    one: int
    other: int


@dataclass(frozen=True)
class SetPair(Pair):
    """The agreement of two people, with the classes on which they differ; `agreed` is the share of equal sets."""

    contested: tuple[Contested, ...] = ()


@dataclass(frozen=True)
class SetAgreementReport(AgreementReport):
    """The agreement of all people on whole sets, of each person and pair, and on each class."""

    between: tuple[SetPair, ...] = ()
    classes: tuple[ClassAgreement, ...] = ()


def set_agreement(answers: Iterable[SetRating]) -> Agreement:
    """Krippendorff's α with MASI distance of whole sets (text, person, classes).

    >>> both, one = frozenset(["bug", "idea"]), frozenset(["bug"])
    >>> answers = [("a", "Ann", both), ("a", "Bo", one), ("b", "Ann", one), ("b", "Bo", one), ("c", "Bo", both)]
    >>> set_agreement([*answers, ("c", "Ann", both)]).alpha
    0.4444444444444444
    """
    whole = ((text, person, label) for text, person, label in answers if isinstance(label, frozenset))
    return agreement(whole, masi_distances)


def set_agreement_report(answers: Sequence[SetRating], classes: Sequence[str]) -> SetAgreementReport:
    """The agreement in these ratings; those that decide only some classes count for these classes."""
    pairs = _pairs_of_people(answers, classes)
    counts = Counter(person for _, person, label in answers if isinstance(label, frozenset))
    people = []
    for name, texts in sorted(counts.items()):
        mine = [pair for pair in pairs if name in (pair.one, pair.other) and pair.texts]
        if shared := sum(pair.texts for pair in mine):
            people.append(PersonAgreement(name, texts, sum(pair.agreed * pair.texts for pair in mine) / shared))
    return SetAgreementReport(
        **asdict(set_agreement(answers)),
        people=tuple(people),
        between=tuple(pairs),
        classes=class_agreements(answers, classes),
    )


def _pairs_of_people(answers: Iterable[SetRating], classes: Sequence[str]) -> list[SetPair]:
    """The agreement of each pair of people on the texts that both labelled, the lowest first."""
    by_text: dict[str, dict[str, SetAnswer]] = {}
    for text, person, label in answers:
        by_text.setdefault(text, {})[person] = label
    shared: dict[tuple[str, str], list[tuple[SetAnswer, SetAnswer]]] = {}
    for by_person in by_text.values():
        for one, other in combinations(sorted(by_person), 2):
            shared.setdefault((one, other), []).append((by_person[one], by_person[other]))
    found = [_pair(*both, labels, classes) for both, labels in sorted(shared.items())]
    return sorted(found, key=lambda pair: pair.agreed)


def _pair(one: str, other: str, labels: Sequence[tuple[SetAnswer, SetAnswer]], classes: Sequence[str]) -> SetPair:
    whole = [(mine, theirs) for mine, theirs in labels if isinstance(mine, frozenset) and isinstance(theirs, frozenset)]
    agreed = sum(mine == theirs for mine, theirs in whole) / len(whole) if whole else 0.0
    counts = {name: _differences(labels, name) for name in classes}
    contested = [Contested(name, only[True], only[False]) for name, only in counts.items() if only]
    contested.sort(key=lambda found: -found.one - found.other)
    return SetPair(one, other, len(whole), agreed, (), tuple(contested))


def _differences(labels: Sequence[tuple[SetAnswer, SetAnswer]], name: str) -> Mapping[bool, int]:
    """How often only the first person gave a class (True), and how often only the second (False)."""
    decided = [(decision_on(mine, name), decision_on(theirs, name)) for mine, theirs in labels]
    return Counter(mine for mine, theirs in decided if mine is not None and theirs is not None and mine != theirs)
