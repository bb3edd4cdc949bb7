"""Classes can be added, renamed, described, ordered and archived at any time; no annotation is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

from sqlalchemy import bindparam, delete, func, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import Class, Prediction
from hybridal.app.labelling.codebook import recording
from hybridal.errors import UserError
from hybridal.sentences import Sentence

MAX_CLASSES = 1000
"""A column with more values than this is probably not the label column."""

LONGEST_NAME = 200
LONGEST_DESCRIPTION = 2000

KEYS = "123456789abdeghijklmnopqrtvwxyz"
"""Keys that a class can have on the page Label: those without another meaning there (see `keys.js`)."""

Archived = Literal["", "kept", "out"]
"""Whether a class can be given (""); if not, whether the model still learns its labels."""

# Reload it: it may have been merged since this session last read it.
_OF_THIS_NAME = select(Class).where(Class.name == bindparam("name")).execution_options(populate_existing=True)


def active(session: Session) -> list[Class]:
    """Read the classes that can be given, in the order in which they are shown."""
    return [one for one in current(session) if not one.archived]


def current(session: Session) -> list[Class]:
    """Read all classes that labels can have, including archived ones, in their order."""
    there = select(Class).where(Class.merged_into.is_(None), Class.archived != "deleted")
    return in_groups(session.scalars(there.order_by(Class.position, Class.number)).all())


def in_groups(found: Sequence[Class]) -> list[Class]:
    """Sort classes so that those of a group follow its first one; the others stay in their order.

    >>> [one.name for one in in_groups([Class(name=name, group=name[1:]) for name in ("a1", "b", "c2", "d1", "e")])]
    ['a1', 'd1', 'b', 'c2', 'e']
    """
    first: dict[str | int, int] = {}
    place = [first.setdefault(one.group or at, at) for at, one in enumerate(found)]
    return [found[at] for at in sorted(range(len(found)), key=lambda at: (place[at], at))]


def find(session: Session, name: str) -> Class:
    """Find a class by name; the name of a merged class finds the class that it was merged into."""
    found = session.scalar(_OF_THIS_NAME, {"name": name.strip()})
    if found is None:
        close = get_close_matches(name, [one.name for one in active(session)], n=1)
        if not close:
            raise MissingError(Sentence("There is no class '{name}'.", name=name[:40]))
        raise MissingError(
            Sentence("There is no class '{name}'; did you mean '{close}'?", name=name[:40], close=close[0][:40])
        )
    now = session.get_one(Class, resolve(session, found.number))
    if now.archived == "deleted":
        raise MissingError(Sentence("The class '{name}' was deleted.", name=name[:40]))
    return now


def find_offered(session: Session, name: str) -> Class:
    """Find a class that people can give; an archived one is refused."""
    if (found := find(session, name)).archived:
        raise ConflictError(Sentence("The class '{name}' is archived; choose another.", name=found.name[:40]))
    return found


def resolve(session: Session, number: int) -> int:
    """Follow the merges of a class to its current number."""
    while (merged_into := get(session, number).merged_into) is not None:
        number = merged_into
    return number


def current_classes(session: Session) -> dict[int, int]:
    """Map each class number to the class that it stands for now."""
    rows = session.execute(select(Class.number, Class.merged_into))
    return resolve_merges(dict(rows.all()))


def deleted_classes(session: Session) -> set[int]:
    """The numbers of deleted classes."""
    return {*session.scalars(select(Class.number).where(Class.archived == "deleted"))}


def resolve_merges(merged_into: Mapping[int, int | None]) -> dict[int, int]:
    """Map each class to the end of its merges; a class that was never merged to itself.

    >>> resolve_merges({1: None, 2: 3, 3: 1})
    {1: 1, 2: 1, 3: 1}
    """

    def end(number: int) -> int:
        while (further := merged_into[number]) is not None:
            number = further
        return number

    return {number: end(number) for number in merged_into}


def get(session: Session, number: int) -> Class:
    """Read a class by its number."""
    found = session.get(Class, number)
    if found is None:
        raise MissingError(f"There is no class number {number}.")
    return found


def add(session: Session, names: Sequence[str]) -> list[Class]:
    """Add classes at the end of the list; existing ones stay as they are."""
    exclusive(session)
    wanted = dict.fromkeys(map(checked, names))
    new = [name for name in wanted if session.scalar(select(Class.number).where(Class.name == name)) is None]
    if new:
        last = session.scalar(select(func.max(Class.position)))
        with recording(session):
            session.add_all(
                Class(name=name, position=at) for at, name in enumerate(new, 0 if last is None else last + 1)
            )
            session.flush()
    number = session.scalar(select(func.count()).select_from(Class)) or 0
    if number > MAX_CLASSES:
        raise UserError(
            Sentence(
                "{number} classes are too many (the limit is {most}); is this the right label column?",
                number=number,
                most=MAX_CLASSES,
            )
        )
    return [find(session, name) for name in names]


def rename(session: Session, number: int, name: str) -> Class:
    """Rename a class."""
    exclusive(session)
    found, name = get(session, number), checked(name)
    other = session.scalar(select(Class).where(Class.name == name, Class.number != number))
    if other is not None and other.archived:
        raise ConflictError(
            Sentence("A class '{name}' is archived; choose another name, or delete that class first.", name=name[:40])
        )
    if other is not None and other.merged_into is None:
        raise ConflictError(Sentence("A class '{name}' already exists; merge the two instead.", name=name[:40]))
    if other is not None:
        raise ConflictError(
            Sentence("'{name}' is the name of a class that was merged; choose another.", name=name[:40])
        )
    with recording(session):
        found.name = name
    return found


def describe(session: Session, number: int, description: str | None = None, examples: str | None = None) -> Class:
    """Change the description or the examples of a class; None leaves them as they are."""
    found = get(session, number)
    with recording(session):
        found.description = found.description if description is None else description
        found.examples = found.examples if examples is None else examples
    return found


def put_in_group(session: Session, number: int, group: str) -> Class:
    """Put a class into the group of this name, which need not exist yet; "" takes it out of its group."""
    found = in_use(session, number)
    with recording(session):
        found.group = group.strip()
    return found


def set_keywords(session: Session, number: int, keywords: str) -> Class:
    """Set the words of a class that are highlighted in texts, one per line, without blank and repeated lines."""
    one, words = get(session, number), (" ".join(line.split()) for line in keywords.splitlines())
    one.keywords = "\n".join(dict.fromkeys(filter(None, words)))
    return one


def set_key(session: Session, number: int, key: str) -> Class:
    """Set the key that gives a class on the page Label; "" leaves the choice to the page."""
    exclusive(session)
    found, key = get(session, number), key.strip().lower()
    if key and (len(key) > 1 or key not in KEYS):
        raise UserError(Sentence("'{key}' cannot be the key of a class; take one of {keys}.", key=key[:10], keys=KEYS))
    other = next((one for one in active(session) if key and one.key == key and one.number != number), None)
    if other is not None:
        raise ConflictError(
            Sentence("The key '{key}' is that of the class '{name}'; choose another.", key=key, name=other.name[:40])
        )
    found.key = key
    return found


@dataclass(frozen=True)
class ClassEntry:
    """A row of a pasted list: the name of a class, its description and its key; "" leaves those of a known one."""

    name: str
    description: str = ""
    key: str = ""


def define(session: Session, entries: Sequence[ClassEntry]) -> tuple[int, int]:
    """Add the classes of a list, and update known ones.

    Returns:
        How many classes were added, and how many known ones changed.
    """
    exclusive(session)
    known = {one.name: (one.description, one.key) for one in current(session)}
    entries = [replace(one, name=checked(one.name)) for one in entries]
    with recording(session):
        add(session, [one.name for one in entries])
        found = {one.name: find_offered(session, one.name) for one in entries}
        for one in entries:  # a list may exchange the keys of two classes
            if one.key:
                found[one.name].key = ""
        session.flush()
        for one in entries:
            describe(session, found[one.name].number, one.description or None)
            if one.key:
                set_key(session, found[one.name].number, one.key)
    now = {one.name: (one.description, one.key) for one in found.values()}
    return len(now.keys() - known.keys()), sum(name in known and known[name] != now[name] for name in now)


def examples_of(found: Class) -> list[str]:
    """Split the examples of a class into texts.

    >>> examples_of(Class(examples="It crashes.\\n\\n It hangs. "))
    ['It crashes.', 'It hangs.']
    """
    return [line.strip() for line in found.examples.splitlines() if line.strip()]


def place(session: Session, number: int, position: int) -> Class:
    """Move a class to a position among the active ones, counted from 0."""
    exclusive(session)
    found = get(session, number)
    others = [other for other in active(session) if other.number != number]
    others.insert(max(0, position), found)
    for i, other in enumerate(others):
        other.position = i
    return found


def checked(name: str) -> str:
    """Strip and check the name of a class.

    >>> checked(" bug ")
    'bug'
    """
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        raise UserError(Sentence("A class needs a name of 1 to {most} characters.", most=LONGEST_NAME))
    return name


def archive(session: Session, number: int, how: Archived) -> Class:
    """Archive a class, or bring it back; all annotations stay (see `Archived`)."""
    exclusive(session)
    found = in_use(session, number)
    with recording(session):
        found.archived = how
    found.key = ""  # another class may have it when this one comes back
    if how == "out":
        # A set of classes is still predicted without it.
        only = Prediction.label_set.is_(None)
        session.execute(delete(Prediction).where(Prediction.class_number == number, only))
    return found


def in_use(session: Session, number: int) -> Class:
    """Read a class by its number; one that was merged or deleted is refused."""
    found = get(session, number)
    if found.merged_into is not None or found.archived == "deleted":
        raise ConflictError(Sentence("The class '{name}' was merged or deleted before.", name=found.name[:40]))
    return found
