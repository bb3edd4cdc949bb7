"""Who labelled how many texts on which day, and how long a label takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Annotation, Person, now
from hybridal.app.insight.class_quality import MIN_TEXTS
from hybridal.app.labelling.classes import active, current_classes

SHORTEST, LONGEST = 0.25, 300.0  # seconds: a key that bounces, or answers sent together; and a pause
RECENT_DAYS = 90
_ONE_BY_ONE = ("queue", "random", "picked")


@dataclass(frozen=True)
class Duration:
    """How long labels took, in seconds: median and quartiles, which are None for fewer than 10 timed labels."""

    timed: int
    median: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PersonActivity:
    """The texts that a person labelled on each day, and in all; and how long a label took."""

    name: str
    texts: int
    by_day: tuple[int, ...]
    duration: Duration


@dataclass(frozen=True)
class ClassDuration:
    """How long a label of a class took."""

    name: str
    duration: Duration


@dataclass(frozen=True)
class Activity:
    """The days (ISO dates), the people who labelled on any of them, and the times per class.

    If a text may have several classes, there are no times per class.
    """

    days: tuple[str, ...]
    people: tuple[PersonActivity, ...]
    classes: tuple[ClassDuration, ...]


def activity(session: Session, days: int, offset: int = 0, by: int | None = None) -> Activity:
    """The work of the last days.

    The time of a label is that since the person's annotation before it. Times of more than five minutes are pauses, and
    do not count; nor do labels of several texts at once. Copies of an answer count nowhere.

    Args:
        session: A session of the project.
        days: How many days, with today.
        offset: The time zone in which a day begins, in minutes east of Greenwich.
        by: Number of a person; only their annotations count.
    """
    zone = timezone(timedelta(minutes=offset))
    today = datetime.fromtimestamp(now(), zone).date()
    first = today - timedelta(days=days - 1)
    start = datetime(first.year, first.month, first.day, tzinfo=zone).astimezone(UTC).timestamp()
    texts: dict[str, list[set[int]]] = {}
    times: dict[str, list[float]] = defaultdict(list)
    by_class: dict[int, list[float]] = defaultdict(list)
    for label in _labels(session, start, by):
        day = int((label.at - start) // 86400)
        texts.setdefault(label.person, [set() for _ in range(days)])[min(day, days - 1)].add(label.text_row)
        if label.seconds is not None:
            times[label.person].append(label.seconds)
            if label.class_number is not None:
                by_class[label.class_number].append(label.seconds)
    now_called, merged = current_classes(session), defaultdict[int, list[float]](list)
    for number, seconds_of in by_class.items():
        merged[now_called[number]] += seconds_of
    return Activity(
        tuple((first + timedelta(days=day)).isoformat() for day in range(days)),
        tuple(_person(name, texts[name], times[name]) for name in sorted(texts)),
        tuple(ClassDuration(one.name, duration(merged[one.number])) for one in active(session) if merged[one.number]),
    )


@dataclass(frozen=True)
class LabelSeconds:
    """How long a label took: the mean, from which the time of many labels follows, and the median."""

    mean: float
    median: float


def label_seconds(session: Session) -> LabelSeconds | None:
    """The time of a label by people of the last 90 days, without pauses; None for fewer than 10 timed labels."""
    timed = [
        label.seconds for label in _labels(session, now() - RECENT_DAYS * 86400, None) if label.seconds is not None
    ]
    return LabelSeconds(float(np.mean(timed)), float(np.median(timed))) if len(timed) >= MIN_TEXTS else None


@dataclass(frozen=True)
class _Label:
    """A label by a person; `seconds` is None if it was not given one by one, or after a pause."""

    person: str
    text_row: int
    at: float
    class_number: int | None
    seconds: float | None


def _labels(session: Session, start: float, by: int | None) -> Iterator[_Label]:
    """The labels by people since `start`, of one person if `by` is their number."""
    given = select(
        Person.name, Annotation.text_row, Annotation.at, Annotation.action, Annotation.drawn, Annotation.class_number
    ).join(Person, Person.number == Annotation.person_number)
    given = given.where(Person.kind == "person", Annotation.at >= start, Annotation.copy_of.is_(None))
    if by is not None:
        given = given.where(Annotation.person_number == by)
    before: dict[str, float] = {}
    for name, row, at, action, drawn, number in session.execute(given.order_by(Annotation.number)):
        if action == "label":
            seconds = at - before.get(name, float("-inf"))
            is_timed = drawn in _ONE_BY_ONE and SHORTEST <= seconds <= LONGEST
            yield _Label(name, row, at, number, seconds if is_timed else None)
        before[name] = at


def duration(seconds: Sequence[float]) -> Duration:
    """Median and quartiles of times.

    >>> duration([2.0] * 9).median is None, duration([1.0, 2.0, 3.0] * 4).median
    (True, 2.0)
    """
    if len(seconds) < MIN_TEXTS:
        return Duration(len(seconds), None, None, None)
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
    return Duration(len(seconds), median, low, high)


def _person(name: str, texts: Iterable[set[int]], seconds: Sequence[float]) -> PersonActivity:
    by_day = tuple(map(len, texts))
    return PersonActivity(name, sum(by_day), by_day, duration(seconds))
