"""A set of classes as the answer to a text that may have several; it may decide only some of the classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ClassSet:
    """Which classes a text has, by their numbers.

    Attributes:
        present: The classes that it has.
        absent: The classes that it does not have; None stands for all others except `unknown`.
        unknown: Classes that are not decided: a person does not know, or people disagree.

    Example:
        >>> ClassSet.of([3, 1]).decision(2), ClassSet.partial({3: True}).decision(2)
        (False, None)
    """

    present: frozenset[int] = _NONE
    absent: frozenset[int] | None = None
    unknown: frozenset[int] = _NONE

    @classmethod
    def of(cls, present: Iterable[int]) -> ClassSet:
        """A whole set: the text has these classes and no others."""
        return cls(frozenset(present))

    @classmethod
    def partial(cls, decisions: Mapping[int, bool | None]) -> ClassSet:
        """A set that decides only these classes; None is a question that was skipped."""
        present, absent, unknown = (
            frozenset(number for number, decided in decisions.items() if decided is what)
            for what in (True, False, None)
        )
        return cls(present, absent, unknown)

    @property
    def is_whole(self) -> bool:
        """Whether every class is decided."""
        return self.absent is None and not self.unknown

    @property
    def decides(self) -> bool:
        """Whether any class is decided."""
        return self.absent is None or bool(self.present or self.absent)

    @property
    def classes(self) -> frozenset[int]:
        """All classes that are named."""
        return self.present | (self.absent or _NONE) | self.unknown

    def decision(self, number: int) -> bool | None:
        """Whether the text has a class; None if that is unknown."""
        if number in self.present:
            return True
        if number in self.unknown:
            return None
        return False if self.absent is None or number in self.absent else None

    def updated(self, other: ClassSet) -> ClassSet:
        """Replace the classes that another set names; one that names all others by `absent` replaces everything.

        >>> ClassSet.of([1, 2]).updated(ClassSet.partial({2: False, 3: True})) == ClassSet.of([1, 3])
        True
        """
        if other.absent is None:
            return other
        return ClassSet(
            self.present - other.classes | other.present,
            None if self.absent is None else self.absent - other.classes | other.absent,
            self.unknown - other.classes | other.unknown,
        )

    def completed(self, classes: Set[int]) -> ClassSet:
        """Return the whole set if each of these classes is decided.

        >>> ClassSet.partial({1: True, 2: False}).completed({1, 2}) == ClassSet.of([1])
        True
        """
        decided = classes and all(self.decision(number) is not None for number in classes)
        return ClassSet(self.present) if decided else self

    def renamed(self, now: Mapping[int, int], gone: Set[int]) -> ClassSet:
        """Replace merged classes by those that they stand for now, and leave deleted ones out.

        A text has a class if it had any of those that were merged into it. That it lacks a merged class says nothing of
        the class that it was merged into.

        >>> ClassSet.partial({1: False, 2: True}).renamed({1: 3, 2: 3}, set()) == ClassSet.partial({3: True})
        True
        """
        present = frozenset(now[number] for number in self.present) - gone
        absent = None if self.absent is None else frozenset(n for n in self.absent if now[n] == n) - present - gone
        unknown = frozenset(now[number] for number in self.unknown) - present - (absent or _NONE) - gone
        return ClassSet(present, absent, unknown)

    def encode(self) -> str:
        """Write the set as a text that equal sets share.

        >>> ClassSet.of([3, 1]).encode(), ClassSet.partial({7: False, 2: True, 5: None}).encode()
        ('1,3/*/', '2/7/5')
        """
        absent = "*" if self.absent is None else _written(self.absent)
        return f"{_written(self.present)}/{absent}/{_written(self.unknown)}"

    @property
    def digest(self) -> str:
        """A hash of the set."""
        return sha256(self.encode().encode()).hexdigest()[:32]


@lru_cache(maxsize=10_000)
def decode_set(written: str) -> ClassSet:
    """Read a set that `ClassSet.encode` has written.

    >>> decode_set("2/7/5").encode()
    '2/7/5'
    """
    present, absent, unknown = written.split("/")
    return ClassSet(_read(present), None if absent == "*" else _read(absent), _read(unknown))


def _written(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _read(written: str) -> frozenset[int]:
    return frozenset(map(int, filter(None, written.split(","))))
