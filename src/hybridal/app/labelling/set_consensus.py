"""The consensus of several people's sets of classes: of whole sets, or of each class by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hybridal.app.db.class_set import ClassSet


def agreed_set(answers: Sequence[ClassSet], majority: bool = False) -> ClassSet:
    """Combine answers if no class is contested; a partial answer agrees with every set that it does not contradict.

    Args:
        answers: A set per person, each of which decides something.
        majority: If classes are contested, take the whole set that more than half of the people gave.

    Returns:
        What all have decided together. While people disagree, a set that decides nothing, in which the contested
        classes are unknown.

    >>> agreed_set([ClassSet.of([1]), ClassSet.partial({1: True, 2: False})]) == ClassSet.of([1])
    True
    >>> agreed_set([ClassSet.of([1]), ClassSet.of([2]), ClassSet.of([2])], majority=True) == ClassSet.of([2])
    True
    """
    if not (contested := disputed(answers)):
        return settled_classes(answers)
    whole = Counter(answer for answer in answers if answer.is_whole)
    if majority and whole:
        best, times = whole.most_common(1)[0]
        if 2 * times > len(answers):
            return best
    return ClassSet.partial(dict.fromkeys(contested))


def settled_classes(answers: Sequence[ClassSet], majority: bool = False) -> ClassSet:
    """Settle each class by the people who have decided it; classes on which they disagree are unknown.

    Args:
        answers: A set per person, each of which decides something.
        majority: Whether more than half of those who have decided a class are enough; otherwise all must agree.

    >>> settled_classes([ClassSet.of([1]), ClassSet.of([1, 2])]) == ClassSet(frozenset([1]), None, frozenset([2]))
    True
    """
    decisions: dict[int, bool | None] = {}
    for number, (yes, no) in _counts(answers).items():
        contested = bool(yes and no) and not (majority and yes != no)
        decisions[number] = None if contested or not yes + no else yes > no
    found = ClassSet.partial(decisions)
    if any(one.absent is None for one in answers):  # a whole set also decides the classes that no answer names
        return ClassSet(found.present, None, found.unknown)
    return ClassSet(found.present, found.absent, found.unknown & disputed(answers))


def disputed(answers: Sequence[ClassSet]) -> frozenset[int]:
    """The classes that some people say a text has, and others that it has not.

    >>> sorted(disputed([ClassSet.of([1, 2]), ClassSet.partial({2: False, 3: False})]))
    [2]
    """
    return frozenset(number for number, (yes, no) in _counts(answers).items() if yes and no)


def _counts(answers: Sequence[ClassSet]) -> dict[int, tuple[int, int]]:
    """How many people say yes and no to each class that anyone names."""
    found = {}
    for number in sorted({number for answer in answers for number in answer.classes}):
        given = [decided for answer in answers if (decided := answer.decision(number)) is not None]
        found[number] = (sum(given), len(given) - sum(given))
    return found
