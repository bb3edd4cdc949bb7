"""Sets of classes in the database: found or added, and with the names of their classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, insert, select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import execute
from hybridal.app.db.schema import Class, LabelSet, LabelSetClass
from hybridal.app.labelling import classes
from hybridal.app.labelling.classes import find, find_offered
from hybridal.tasks.answers import Decisions

Label = int | ClassSet
"""The number of a class, or a set of classes if a text may have several."""

_SETS_PER_QUERY = 500
_OF_DIGESTS = select(LabelSet.digest, LabelSet.number).where(LabelSet.digest.in_(bindparam("digests", expanding=True)))
_ADD = insert(LabelSet).returning(LabelSet.number, sort_by_parameter_order=True)
_GIVEN = select(Class.name, Class.number).where(Class.name.in_(bindparam("names", expanding=True)))
_GIVEN = _GIVEN.where(Class.merged_into.is_(None), Class.archived == "")
_ACTIVE = select(Class.number).where(Class.merged_into.is_(None), Class.archived == "")


def is_complete(label: Label | None) -> bool:
    """Whether a label decides every class.

    >>> is_complete(1), is_complete(ClassSet.partial({1: True})), is_complete(None)
    (True, False, False)
    """
    return label.is_whole if isinstance(label, ClassSet) else label is not None


def store_sets(session: Session, sets: Iterable[ClassSet]) -> dict[ClassSet, int]:
    """Return the numbers of sets of classes; those that are new are added.

    Rows are not unique, because waiting for a unique index could deadlock: two people who give the same new set at the
    same moment make two rows.
    """
    missing = {one.digest: one for one in sets}
    found: dict[ClassSet, int] = {}
    for part in _parts([*missing]):
        found |= {missing[digest]: number for digest, number in execute(session, _OF_DIGESTS, digests=part)}
    new = [one for one in missing.values() if one not in found]
    for some in _parts(new):
        rows = [{"digest": one.digest, "classes": one} for one in some]
        numbers = session.scalars(_ADD, rows).all()
        found |= zip(some, numbers, strict=True)
        named = [
            {"set_number": number, "class_number": name, "present": one.decision(name)}
            for one, number in zip(some, numbers, strict=True)
            for name in sorted(one.classes)
        ]
        if named:
            session.execute(insert(LabelSetClass), named)
    return found


def label_columns(session: Session, label: Label | None) -> dict[str, int | None]:
    """The columns in which annotations, votes and the consensus hold a label; both are empty for a skip."""
    if isinstance(label, ClassSet):
        return {"class_number": None, "label_set": store_sets(session, [label])[label]}
    return {"class_number": label, "label_set": None}


def numbers_of(session: Session, names: Iterable[str], offered: bool = False) -> dict[str, int]:
    """Find classes by name, as `classes.find` does; with `offered` archived ones are refused."""
    wanted = {name: name.strip() for name in names}
    known: dict[str, int] = dict(execute(session, _GIVEN, names=sorted({*wanted.values()})).all()) if wanted else {}
    look = find_offered if offered else find
    return {name: known[bare] if bare in known else look(session, bare).number for name, bare in wanted.items()}


def active_numbers(session: Session) -> frozenset[int]:
    """The numbers of the classes that people can give."""
    return frozenset(execute(session, _ACTIVE).scalars())


def class_names(session: Session) -> dict[int, str]:
    """The names of all classes that labels can have, in the order in which they are shown."""
    return {one.number: one.name for one in classes.current(session)}


def named(classes: ClassSet, names: Mapping[int, str]) -> list[str]:
    """The names of the classes that a text has, in the order of `names`."""
    return [name for number, name in names.items() if number in classes.present]


def decisions_named(classes: ClassSet, names: Mapping[int, str]) -> dict[str, bool | None] | None:
    """The decided classes of a partial set by name, in the order of `names`; None if the set is whole."""
    if classes.is_whole:
        return None
    explicit = classes.classes if classes.absent is not None else names.keys()
    return {name: classes.decision(number) for number, name in names.items() if number in explicit}


def answer_of(classes: ClassSet, names: Mapping[int, str]) -> frozenset[str] | Decisions:
    """The label by name: all classes, or the decided ones.

    >>> answer_of(ClassSet.partial({1: True, 2: None}), {1: "bug", 2: "idea"}).by_class()
    {'bug': True}
    """
    decisions = decisions_named(classes, names)
    if decisions is None:
        return frozenset(named(classes, names))
    return Decisions.of({name: has for name, has in decisions.items() if has is not None})


def _parts(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[start : start + _SETS_PER_QUERY] for start in range(0, len(items), _SETS_PER_QUERY))
