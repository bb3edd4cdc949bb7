"""Agreement between annotators: Krippendorff's α and Cohen's κ with bootstrap intervals, and confused classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Annotation, Class, Consensus, Person, Text, Vote
from hybridal.randomness import stream

Array = NDArray[np.float64]

_RESAMPLES = 2000
_RESAMPLES_PER_CHUNK = 100  # limits the memory for many texts


def bootstrap_interval(
    values: Callable[[NDArray[np.int64]], Array], texts: int, purpose: str
) -> tuple[float, float] | tuple[None, None]:
    """The 95% bootstrap percentile interval of a statistic over resampled texts; None if most resamples have no value.

    `values` receives how often each text was drawn, one row per resample, and returns a number or NaN for each row.
    >>> low, high = bootstrap_interval(lambda times: times @ np.array([0.0, 1.0, 1.0, 2.0]) / 4, 4, "example")
    >>> low < 1 < high
    True
    """
    return percentile_interval(resampled(values, texts, purpose)) if texts > 1 else (None, None)


def resampled(values: Callable[[NDArray[np.int64]], Array], texts: int, purpose: str) -> Array:
    """The values of a statistic, or of several side by side, for each resample of the texts."""
    rng, chances = stream(0, purpose), np.full(texts, 1 / texts)
    chunks = range(_RESAMPLES // _RESAMPLES_PER_CHUNK)
    return np.concatenate([values(rng.multinomial(texts, chances, size=_RESAMPLES_PER_CHUNK)) for _ in chunks])


def percentile_interval(found: Array) -> tuple[float, float] | tuple[None, None]:
    """The middle 95% of the values of all resamples; None if most of them have no value.

    >>> percentile_interval(np.linspace(0, 1, 2001)), percentile_interval(np.full(2000, np.nan))
    ((0.025, 0.975), (None, None))
    """
    known = found[~np.isnan(found)]
    if len(known) < len(found) / 2:
        return None, None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


Rating = tuple[str, str, str]  # text, person, class
Distances = Callable[[Sequence[Any]], Array]
"""Returns the distance of each value of a rating to each other."""


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's α with its 95% interval: 1 is perfect agreement, 0 is agreement by chance.

    `texts` counts those labelled by two or more people, `pairs` the pairs of labels on them. Values are None if they
    are undefined; `note` says why.
    """

    alpha: float | None
    low: float | None
    high: float | None
    texts: int
    pairs: int
    note: str = ""


@dataclass(frozen=True)
class Confused:
    """How often one person chose class `one` and the other person class `other`."""

    one: str
    other: str
    times: int


@dataclass(frozen=True)
class Pair:
    """The agreement of two people on the texts that both labelled, and the classes they confused."""

    one: str
    other: str
    texts: int
    agreed: float
    confused: tuple[Confused, ...]


@dataclass(frozen=True)
class PersonAgreement:
    """One person's number of texts shared with others, and their share of agreement in these comparisons."""

    name: str
    texts: int
    agreed: float


@dataclass(frozen=True)
class AgreementReport(Agreement):
    """The agreement of all people, of each person with the others, and of each pair."""

    people: tuple[PersonAgreement, ...] = ()
    between: tuple[Pair, ...] = ()


def agreement_report(answers: Sequence[Rating]) -> AgreementReport:
    """The agreement in these ratings of texts that several people labelled."""
    pairs, counts = pairs_of_people(answers), Counter(person for _, person, _ in answers)
    people = []
    for name, texts in sorted(counts.items()):
        mine = [pair for pair in pairs if name in (pair.one, pair.other)]
        agreed = sum(pair.agreed * pair.texts for pair in mine) / sum(pair.texts for pair in mine)
        people.append(PersonAgreement(name, texts, agreed))
    return AgreementReport(**asdict(agreement(answers)), people=tuple(people), between=tuple(pairs))


def agreement(answers: Iterable[tuple[str, str, Any]], distances: Distances | None = None) -> Agreement:
    """Krippendorff's α of ratings (text, person, class); a person's last rating of a text counts.

    Unequal classes have the distance 1; `distances` gives others.

    >>> answers = [("a", "Ann", "bug"), ("a", "Bo", "bug"), ("b", "Ann", "bug"), ("b", "Bo", "idea"),
    ...            ("c", "Ann", "idea"), ("c", "Bo", "idea"), ("d", "Bo", "bug")]
    >>> found = agreement(answers)
    >>> round(found.alpha, 3), found.texts, found.pairs
    (0.444, 3, 3)
    """
    return _agreement(tuple(answers), distances)


@lru_cache(maxsize=4)  # the interval takes seconds, and is requested more often than it changes
def _agreement(answers: tuple[tuple[str, str, Any], ...], measure: Distances | None) -> Agreement:
    counts, values = count_labels(answers)
    distances = None if measure is None else measure(values)
    per_text = counts.sum(axis=1)
    texts, pairs = len(counts), int((per_text * (per_text - 1) / 2).sum())
    if not texts:
        return Agreement(None, None, None, 0, 0, "no text has been labelled by two people")
    alpha = float(alphas(counts, np.ones((1, texts), dtype=np.int64), distances)[0])
    if np.isnan(alpha):
        return Agreement(None, None, None, texts, pairs, "only one class has been used")
    low, high = bootstrap_interval(lambda times: alphas(counts, times, distances), texts, "agreement")
    return Agreement(alpha, low, high, texts, pairs, "too few texts for an interval" if low is None else "")


def pairs_of_people(answers: Iterable[Rating]) -> list[Pair]:
    """The agreement of each pair of people who labelled some of the same texts, the lowest agreement first.

    >>> pairs_of_people([("a", "Ann", "bug"), ("a", "Bo", "idea"), ("b", "Ann", "bug"), ("b", "Bo", "bug")])
    [Pair(one='Ann', other='Bo', texts=2, agreed=0.5, confused=(Confused(one='bug', other='idea', times=1),))]
    """
    counts: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    for by_person in _by_text(answers).values():
        for one, other in combinations(sorted(by_person), 2):
            counts.setdefault((one, other), Counter())[by_person[one], by_person[other]] += 1
    found = []
    for (one, other), classes in sorted(counts.items()):
        confused = tuple(Confused(*both, times) for both, times in classes.most_common() if both[0] != both[1])
        texts = classes.total()
        found.append(Pair(one, other, texts, 1 - sum(some.times for some in confused) / texts, confused))
    return sorted(found, key=lambda pair: pair.agreed)


def _by_text(answers: Iterable[tuple[str, str, Any]]) -> dict[str, dict[str, Any]]:
    by_text: dict[str, dict[str, Any]] = {}
    for text, person, name in answers:
        by_text.setdefault(text, {})[person] = name
    return by_text


def count_labels(answers: Iterable[tuple[str, str, Any]]) -> tuple[Array, list[Any]]:
    """Count labels: a row for each text that two or more people labelled, a column for each value, which is returned.

    >>> counts, values = count_labels([("a", "Ann", "bug"), ("a", "Bo", "idea"), ("b", "Bo", "bug")])
    >>> counts.tolist(), values
    ([[1.0, 1.0]], ['bug', 'idea'])
    """
    labels = [list(by_person.values()) for by_person in _by_text(answers).values() if len(by_person) > 1]
    order = {name: name if isinstance(name, str) else sorted(name) for names in labels for name in names}
    values = sorted(order, key=order.__getitem__)
    columns = {name: at for at, name in enumerate(values)}
    counts = np.zeros((len(labels), len(columns)))
    for row, names in enumerate(labels):
        for name in names:
            counts[row, columns[name]] += 1
    return counts, values


def alphas(counts: Array, times: NDArray[np.int64], distances: Array | None = None) -> Array:
    """α for each row of `times`, which says how often each text counts; NaN if only one class is left.

    Observed disagreement: the mean distance of ordered pairs within texts, where a text with m labels has the weight m.
    Expected disagreement: the same mean over all pairs of labels of any texts.
    """
    per_text = counts.sum(axis=1)
    total = times @ per_text
    observed = (times @ (_distance_of_pairs(counts, distances) / (per_text - 1))) / total
    expected = _distance_of_pairs(times @ counts, distances) / (total * (total - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - observed / expected, np.nan), dtype=np.float64)


def _distance_of_pairs(counts: Array, distances: Array | None) -> Array:
    """The sum of the distances of all ordered pairs of labels, for each row of counts."""
    if distances is None:
        return np.asarray(counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1))
    return np.asarray(((counts @ distances) * counts).sum(axis=1))


@dataclass(frozen=True)
class Kappa:
    """Cohen's κ with its 95% interval, the number of texts, and the share of agreement; None if undefined."""

    kappa: float | None
    low: float | None
    high: float | None
    texts: int
    agreed: float | None


def kappa(one: Sequence[str], other: Sequence[str]) -> Kappa:
    """Cohen's κ of two annotators; both sequences hold the classes of the same texts in the same order.

    >>> found = kappa(["bug", "bug", "idea", "idea"], ["bug", "idea", "idea", "idea"])
    >>> found.kappa, found.texts, found.agreed
    (0.5, 4, 0.75)
    """
    texts = len(one)
    if not texts:
        return Kappa(None, None, None, 0, None)
    names = np.array(sorted({*one, *other}))
    mine = (np.array(one)[:, None] == names).astype(np.float64)
    theirs = (np.array(other)[:, None] == names).astype(np.float64)
    same = (mine * theirs).sum(axis=1)

    def values(times: NDArray[np.int64]) -> Array:
        # If both sides use only one class, chance agreement is perfect and κ is 0 / 0.
        chance = ((times @ mine) * (times @ theirs)).sum(axis=1) / texts**2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(chance < 1, (times @ same / texts - chance) / (1 - chance), np.nan))

    value, agreed = float(values(np.ones((1, texts), dtype=np.int64))[0]), float(same.mean())
    if np.isnan(value):
        return Kappa(None, None, None, texts, agreed)
    low, high = bootstrap_interval(values, texts, "kappa")
    return Kappa(value, low, high, texts, agreed)


MAX_DISAGREEMENTS = 200


def ratings(session: Session, min_people: int = 2) -> list[Rating]:
    """The labels of texts that at least `min_people` have labelled.

    Decisions do not count: the reviewer has seen the other labels. Nor do copies: the person answered for a look-alike.
    """
    rows = session.execute(
        select(Text.id, Person.name, Class.name)
        .join(Vote, Vote.text_row == Text.row)
        .join(Person, Person.number == Vote.person_number)
        .join(Class, Class.number == Vote.class_number)
        .where(Text.vote_count >= min_people, Person.kind == "person", ~Vote.decides, ~Vote.copied)
        .order_by(Text.row, Person.number)
    ).all()
    people = Counter(text for text, *_ in rows)
    return [(text, person, name) for text, person, name in rows if people[text] >= min_people]


def disagreements(session: Session) -> list[dict[str, Any]]:
    """The first texts that people labelled differently and that have no decision, with everyone's votes."""
    texts = session.scalars(
        select(Text)
        .outerjoin(Consensus, Consensus.text_row == Text.row)
        .where(Text.vote_count > 1, Consensus.text_row.is_(None))
        .order_by(Text.row)
        .limit(MAX_DISAGREEMENTS)
    ).all()
    votes: dict[int, list[dict[str, str]]] = {text.row: [] for text in texts}
    rows = session.execute(
        select(Vote.text_row, Person.name, Class.name, Annotation.comment)
        .join(Person, Person.number == Vote.person_number)
        .join(Class, Class.number == Vote.class_number)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .where(Vote.text_row.in_(votes), Person.kind == "person")
        .order_by(Annotation.number)
    )
    for row, person, name, comment in rows:
        votes[row].append({"person": person, "class": name, "comment": comment})
    return [{"id": text.id, "text": text.body, "annotations": votes[text.row]} for text in texts]
