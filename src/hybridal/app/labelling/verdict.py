"""What a text's standing answers come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """One standing answer: whose kind it is of, the class (None for a skip), and the number of the answer."""

    kind: str
    class_number: int | None
    number: int = 0
    decides: bool = False
    flagged: bool = False


@dataclass(frozen=True)
class Settled:
    """The class that the model learns, and who settled it."""

    class_number: int
    source: str


def settle(standing: Sequence[Said]) -> Settled | None:
    """An adjudication wins; else people who agree; else, where no person labelled it, the file, then the LLM.

    >>> settle([Said("file", 1), Said("person", 2)])
    Settled(class_number=2, source='people')
    >>> settle([Said("person", 1), Said("person", 2)]) is None
    True
    >>> settle([Said("person", 1), Said("person", 2), Said("person", 2, number=9, decides=True)])
    Settled(class_number=2, source='adjudicated')
    """
    decisions = sorted((said for said in standing if said.decides), key=lambda said: said.number)
    if decisions and decisions[-1].class_number is not None:
        return Settled(decisions[-1].class_number, "adjudicated")
    for kind, source in (("person", "people"), ("file", "file"), ("llm", "llm")):
        if found := classes_of(standing, kind):
            return Settled(found.pop(), source) if len(found) == 1 else None
    return None


def disagree(standing: Sequence[Said]) -> bool:
    """Whether people gave this text different classes, and nobody has decided.

    >>> disagree([Said("person", 1), Said("person", 2)]), disagree([Said("person", 1), Said("person", None)])
    (True, False)
    """
    return len(classes_of(standing, "person")) > 1 and settle(standing) is None


def flagged(standing: Sequence[Said]) -> bool:
    """Whether somebody flagged it, and nobody has decided since.

    >>> flagged([Said("person", 1, number=3, flagged=True), Said("person", 1, number=4, decides=True)])
    False
    """
    decided = max((said.number for said in standing if said.decides), default=-1)
    return any(said.flagged and said.number > decided for said in standing)


def classes_of(standing: Sequence[Said], kind: str) -> set[int]:
    """The classes that annotators of one kind gave."""
    return {said.class_number for said in standing if said.kind == kind and said.class_number is not None}
