"""Do people agree? Krippendorff's α and Cohen's κ, with bootstrap intervals over texts, and where people differ."""

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
_CHUNK = 100  # resamples at a time: memory stays small however many texts there are


def bootstrap_interval(
    values: Callable[[NDArray[np.int64]], Array], texts: int, purpose: str
) -> tuple[float, float] | tuple[None, None]:
    """The middle 95% of a statistic over resamples of its texts; none where most resamples have no value.

    `values` is given, a row for each resample, how often each text was drawn, and answers a number or NaN for each.

    >>> low, high = bootstrap_interval(lambda times: times @ np.array([0.0, 1.0, 1.0, 2.0]) / 4, 4, "example")
    >>> low < 1 < high
    True
    """
    drawn, chances = stream(0, purpose), np.full(texts, 1 / texts)
    found = np.concatenate(
        [values(drawn.multinomial(texts, chances, size=_CHUNK)) for _ in range(_RESAMPLES // _CHUNK)]
    )
    known = found[~np.isnan(found)]
    if texts < 2 or len(known) < _RESAMPLES / 2:
        return None, None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


Rating = tuple[str, str, str]  # text, person, class


@dataclass(frozen=True)
class Agreement:
    """α with its 95% interval over texts, and on how much it rests: `texts` seen by two or more, `pairs` of answers.

    1 is perfect agreement, 0 what chance alone would give. None where it cannot be said; `note` tells why.
    """

    alpha: float | None
    low: float | None
    high: float | None
    texts: int
    pairs: int
    note: str = ""


@dataclass(frozen=True)
class Confused:
    """How often one gave one class where the other gave the other."""

    one: str
    other: str
    times: int


@dataclass(frozen=True)
class Pair:
    """Two people on the texts that both labelled; `confused` counts their two classes where these differ."""

    one: str
    other: str
    texts: int
    agreed: float
    confused: tuple[Confused, ...]


@dataclass(frozen=True)
class PersonAgreement:
    """One person: how many texts they share with others, and on which share of these comparisons they agree."""

    name: str
    texts: int
    agreed: float


@dataclass(frozen=True)
class AgreementReport(Agreement):
    """The agreement of all, of everybody with the others, and of every two."""

    people: tuple[PersonAgreement, ...] = ()
    between: tuple[Pair, ...] = ()


def agreement_report(answers: Sequence[Rating]) -> AgreementReport:
    """All that these answers, of texts that several people labelled, say about agreement."""
    pairs, seen = pairs_of_people(answers), Counter(person for _, person, _ in answers)
    people = []
    for name, texts in sorted(seen.items()):
        mine = [pair for pair in pairs if name in (pair.one, pair.other)]
        agreed = sum(pair.agreed * pair.texts for pair in mine) / sum(pair.texts for pair in mine)
        people.append(PersonAgreement(name, texts, agreed))
    return AgreementReport(**asdict(agreement(answers)), people=tuple(people), between=tuple(pairs))


def agreement(answers: Iterable[Rating]) -> Agreement:
    """α of answers given as (text, person, class); the last answer of a person on a text counts.

    >>> said = [("a", "Ann", "bug"), ("a", "Bo", "bug"), ("b", "Ann", "bug"), ("b", "Bo", "idea"),
    ...         ("c", "Ann", "idea"), ("c", "Bo", "idea"), ("d", "Bo", "bug")]
    >>> found = agreement(said)
    >>> round(found.alpha, 3), found.texts, found.pairs
    (0.444, 3, 3)
    """
    return _agreement(tuple(answers))


@lru_cache(maxsize=4)  # the interval takes seconds, and is looked at more often than it changes
def _agreement(answers: tuple[Rating, ...]) -> Agreement:
    counts = _counts(answers)
    given = counts.sum(axis=1)
    texts, pairs = len(counts), int((given * (given - 1) / 2).sum())
    if not texts:
        return Agreement(None, None, None, 0, 0, "no text was labelled by two people")
    alpha = float(_alphas(counts, np.ones((1, texts), dtype=np.int64))[0])
    if np.isnan(alpha):
        return Agreement(None, None, None, texts, pairs, "only one class was ever given, so chance would agree as well")
    low, high = bootstrap_interval(lambda times: _alphas(counts, times), texts, "agreement")
    return Agreement(alpha, low, high, texts, pairs, "too few texts for an interval" if low is None else "")


def pairs_of_people(answers: Iterable[Rating]) -> list[Pair]:
    """Every two people who labelled some of the same texts, the least agreeing first.

    >>> pairs_of_people([("a", "Ann", "bug"), ("a", "Bo", "idea"), ("b", "Ann", "bug"), ("b", "Bo", "bug")])
    [Pair(one='Ann', other='Bo', texts=2, agreed=0.5, confused=(Confused(one='bug', other='idea', times=1),))]
    """
    seen: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    for said in _by_text(answers).values():
        for one, other in combinations(sorted(said), 2):
            seen.setdefault((one, other), Counter())[said[one], said[other]] += 1
    found = []
    for (one, other), classes in sorted(seen.items()):
        confused = tuple(Confused(*both, times) for both, times in classes.most_common() if both[0] != both[1])
        texts = classes.total()
        found.append(Pair(one, other, texts, 1 - sum(some.times for some in confused) / texts, confused))
    return sorted(found, key=lambda pair: pair.agreed)


def _by_text(answers: Iterable[Rating]) -> dict[str, dict[str, str]]:
    said: dict[str, dict[str, str]] = {}
    for text, person, name in answers:
        said.setdefault(text, {})[person] = name
    return said


def _counts(answers: Iterable[Rating]) -> Array:
    """How often each class was given to each text that two or more people labelled."""
    said = [list(by.values()) for by in _by_text(answers).values() if len(by) > 1]
    columns = {name: at for at, name in enumerate(sorted({name for given in said for name in given}))}
    counts = np.zeros((len(said), len(columns)))
    for row, given in enumerate(said):
        for name in given:
            counts[row, columns[name]] += 1
    return counts


def _alphas(counts: Array, times: NDArray[np.int64]) -> Array:
    """α where each text is taken so many times, a row of `times` for each; NaN where only one class is left.

    Observed disagreement: the share of unequal ordered pairs within texts, a text with m answers weighing m. Expected:
    the same share over all pairs of answers, whatever their text.
    """
    given = counts.sum(axis=1)
    unequal = (given**2 - (counts**2).sum(axis=1)) / (given - 1)
    total = times @ given
    classes = times @ counts
    observed = (times @ unequal) / total
    expected = (total**2 - (classes**2).sum(axis=1)) / (total * (total - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - observed / expected, np.nan), dtype=np.float64)


@dataclass(frozen=True)
class Kappa:
    """κ and its 95% interval on so many texts, and the share agreed on; None where it cannot be said."""

    kappa: float | None
    low: float | None
    high: float | None
    texts: int
    agreed: float | None


def kappa(one: Sequence[str], other: Sequence[str]) -> Kappa:
    """κ of two annotators' classes, text by text.

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
        # Only one class left on both sides: chance agrees always, and κ is 0 / 0.
        chance = ((times @ mine) * (times @ theirs)).sum(axis=1) / texts**2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(chance < 1, (times @ same / texts - chance) / (1 - chance), np.nan))

    value, agreed = float(values(np.ones((1, texts), dtype=np.int64))[0]), float(same.mean())
    if np.isnan(value):
        return Kappa(None, None, None, texts, agreed)
    low, high = bootstrap_interval(values, texts, "kappa")
    return Kappa(value, low, high, texts, agreed)


MOST_DISAGREEMENTS = 200


def ratings(session: Session, least: int = 2) -> list[Rating]:
    """The labels of texts that at least so many people labelled.

    Who decides between others has seen their answers, and does not count.
    """
    rows = session.execute(
        select(Text.id, Person.name, Class.name)
        .join(Vote, Vote.text_row == Text.row)
        .join(Person, Person.number == Vote.person_number)
        .join(Class, Class.number == Vote.class_number)
        .where(Text.answered >= least, Person.kind == "person", ~Vote.decides)
        .order_by(Text.row, Person.number)
    )
    return [(text, person, name) for text, person, name in rows]


def disagreements(session: Session) -> list[dict[str, Any]]:
    """The first texts that people labelled differently and nobody decided, each with what everybody said."""
    texts = session.scalars(
        select(Text)
        .outerjoin(Consensus, Consensus.text_row == Text.row)
        .where(Text.answered > 1, Consensus.text_row.is_(None))
        .order_by(Text.row)
        .limit(MOST_DISAGREEMENTS)
    ).all()
    said: dict[int, list[dict[str, str]]] = {text.row: [] for text in texts}
    rows = session.execute(
        select(Vote.text_row, Person.name, Class.name, Annotation.comment)
        .join(Person, Person.number == Vote.person_number)
        .join(Class, Class.number == Vote.class_number)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .where(Vote.text_row.in_(said), Person.kind == "person")
        .order_by(Annotation.number)
    )
    for row, person, name, comment in rows:
        said[row].append({"person": person, "class": name, "comment": comment})
    return [{"id": text.id, "text": text.body, "annotations": said[text.row]} for text in texts]
