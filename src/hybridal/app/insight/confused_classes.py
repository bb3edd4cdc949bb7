"""Which classes people confuse with each other, from texts that several people labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, combinations

from hybridal.app.insight.class_agreement import SetAnswer, decision_on
from hybridal.measures.certainty import wilson


@dataclass(frozen=True)
class ConfusedClasses:
    """Two classes, of which people gave one or the other to the same text.

    Attributes:
        one: A class.
        other: Another class.
        texts: To how many texts one person gave `one` and not `other`, and another person the reverse.
        of: How many texts with labels of several people got either class.
        low: Lower bound of the 95% Wilson interval of `texts` / `of`.
        high: Upper bound of it.
    """

    one: str
    other: str
    texts: int
    of: int
    low: float
    high: float


def confused_classes(answers: Iterable[tuple[str, str, SetAnswer | str]]) -> list[ConfusedClasses]:
    """The pairs of classes that people confused, the most frequent first.

    Args:
        answers: Text, person, and the class or classes that the person gave.

    Example:
        >>> answers = [("a", "Ann", "bug"), ("a", "Bo", "idea"), ("b", "Ann", "bug"), ("b", "Bo", "bug")]
        >>> confused_classes(answers)[0]
        ConfusedClasses(one='bug', other='idea', texts=1, of=2, low=0.09453120573423074, high=0.9054687942657693)
    """
    by_text: dict[str, list[SetAnswer]] = {}
    for text, _, answer in answers:
        by_text.setdefault(text, []).append(frozenset([answer]) if isinstance(answer, str) else answer)
    shared = [given for given in by_text.values() if len(given) > 1]
    named = [frozenset(chain.from_iterable(map(_given, one))) for one in shared]
    confused = Counter(chain.from_iterable(map(_confused, shared)))
    got = Counter(chain.from_iterable(named))
    got_both = Counter(pair for names in named for pair in combinations(sorted(names), 2))
    found = []
    for pair, texts in confused.items():
        of = got[pair[0]] + got[pair[1]] - got_both[pair]
        found.append(ConfusedClasses(*pair, texts, of, *wilson(texts, of)))
    return sorted(found, key=lambda one: (-one.texts, one.of, one.one, one.other))


def _given(answer: SetAnswer) -> frozenset[str]:
    return answer if isinstance(answer, frozenset) else frozenset(answer.present)


def _confused(answers: list[SetAnswer]) -> set[tuple[str, str]]:
    """The pairs of classes of which one person gave the first only, and another person the second only."""
    found: set[tuple[str, str]] = set()
    for mine, theirs in combinations(answers, 2):
        only_mine, only_theirs = (
            [name for name in _given(a) if decision_on(b, name) is False] for a, b in ((mine, theirs), (theirs, mine))
        )
        found.update((min(pair), max(pair)) for pair in ((a, b) for a in only_mine for b in only_theirs))
    return found
