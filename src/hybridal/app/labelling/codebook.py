"""Versions of the codebook. Each stores which classes it changed and how, so that every earlier codebook follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import MissingError
from hybridal.app.audit_log import log_action
from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import Class, CodebookVersion, Person

Codebook = Mapping[int, Mapping[str, Any]]
"""The fields of each class by its number."""

FIELDS = ("name", "description", "examples", "group", "archived", "merged_into")
NEWEST_VERSION = select(func.coalesce(func.max(CodebookVersion.number), 0))

_OPERATIONS = {
    "name": "rename",
    "description": "describe",
    "examples": "describe",
    "group": "group",
    "archived": "archive",
    "merged_into": "merge",
}
_MAX_LOGGED = 10  # classes that an entry of the audit log names
_RECORDING = "codebook is being recorded"  # key of `Session.info`


@dataclass(frozen=True)
class ChangedClass:
    """The fields of a class that changed, before and after; `before` is None for a new class."""

    number: int
    before: Mapping[str, Any] | None
    after: Mapping[str, Any]


def changes_between(before: Codebook, after: Codebook) -> list[ChangedClass]:
    """Compare two codebooks, of which the later has all classes of the earlier.

    >>> changes_between({1: {"name": "a", "group": ""}}, {1: {"name": "b", "group": ""}})
    [ChangedClass(number=1, before={'name': 'a'}, after={'name': 'b'})]
    """
    found = []
    for number, now in after.items():
        if (then := before.get(number)) is None:
            found.append(ChangedClass(number, None, dict(now)))
        elif differing := [name for name in now if now[name] != then[name]]:
            fields = [{name: one[name] for name in differing} for one in (then, now)]
            found.append(ChangedClass(number, *fields))
    return found


def without_changes(after: Codebook, changes: Sequence[ChangedClass]) -> Codebook:
    """Return the codebook before these changes.

    >>> without_changes({1: {"name": "b", "group": ""}}, [ChangedClass(1, {"name": "a"}, {"name": "b"})])
    {1: {'name': 'a', 'group': ''}}
    """
    before = {number: dict(fields) for number, fields in after.items()}
    for one in changes:
        if one.before is None:
            del before[one.number]
        else:
            before[one.number].update(one.before)
    return before


def operation_of(changes: Sequence[ChangedClass]) -> str:
    """Name what was done by what changed (see `CodebookVersion`).

    >>> operation_of([ChangedClass(1, {"description": ""}, {"description": "crashes"})])
    'describe'
    >>> operation_of([ChangedClass(1, {"archived": "kept"}, {"archived": ""})])
    'restore'
    """
    if any(one.before is None for one in changes):
        return "add"
    if any(one.after.get("archived") == "deleted" for one in changes):
        return "delete"  # the names of deleted classes change too
    if any(one.after.get("merged_into") is not None for one in changes):
        return "merge"  # an archived class is merged as if it were not archived
    found = {_OPERATIONS[name] for one in changes for name in one.after}
    if found == {"archive"} and all(one.after["archived"] == "" for one in changes):
        return "restore"
    return found.pop() if len(found) == 1 else "change"


@contextmanager
def recording(
    session: Session,
    person: Person | None = None,
    operation: str | None = None,
    class_number: int | None = None,
    parts: Sequence[int] = (),
) -> Iterator[None]:
    """Make a new version of the codebook out of what the block changes; of nested blocks only the outer one does.

    Args:
        session: A session that may write.
        person: Who changes the codebook; None if it is not known, for example for classes of a file.
        operation: What is done; by default it follows from the changes.
        class_number: The class that the operation is about.
        parts: The numbers of the classes that it is split into; the block may add to the list.
    """
    if _RECORDING in session.info:
        yield
        return
    exclusive(session)
    before = read_codebook(session)
    session.info[_RECORDING] = True
    try:
        yield
    finally:
        del session.info[_RECORDING]
    session.flush()
    if changes := changes_between(before, after := read_codebook(session)):
        number, done = newest_version(session) + 1, operation or operation_of(changes)
        names = [after[one.number]["name"] for one in changes[:_MAX_LOGGED]]
        log_action(session, person, "classes", done, version=number, classes=", ".join(names))
        session.add(
            CodebookVersion(
                number=number,
                person_number=None if person is None else person.number,
                operation=done,
                class_number=class_number,
                parts=[*parts],
                changes=[asdict(one) for one in changes],
            )
        )
        session.flush()


def newest_version(session: Session) -> int:
    """Read the number of the newest version; 0 before there is a class."""
    return session.scalar(NEWEST_VERSION) or 0


def read_codebook(session: Session) -> Codebook:
    """Read the fields of all classes that exist now, merged and deleted ones included."""
    columns = (getattr(Class, name) for name in FIELDS)
    rows = session.execute(select(Class.number, *columns).order_by(Class.number))
    return {number: dict(zip(FIELDS, fields, strict=True)) for number, *fields in rows}


def codebook_at(session: Session, version: int) -> Codebook:
    """Read the codebook of a version; that of version 0 is empty.

    Raises:
        MissingError: There is no such version.
    """
    if not 0 <= version <= newest_version(session):
        raise MissingError(f"There is no version {version} of the codebook.")
    later = select(CodebookVersion.changes).where(CodebookVersion.number > version)
    codebook = read_codebook(session)
    for changes in session.scalars(later.order_by(CodebookVersion.number.desc())):
        codebook = without_changes(codebook, [ChangedClass(**one) for one in changes])
    return codebook


def check_versions(session: Session) -> None:
    """Check the versions of a project that comes from elsewhere.

    Raises:
        ValueError: They are not those of its classes.
    """
    codebook = read_codebook(session)
    versions = session.scalars(select(CodebookVersion).order_by(CodebookVersion.number.desc())).all()
    if [one.number for one in versions] != [*range(len(versions), 0, -1)]:
        raise ValueError("a version of the codebook is missing")
    for version in versions:
        if not _is_version(version, codebook):
            raise ValueError(f"version {version.number} of the codebook is damaged")
        codebook = without_changes(codebook, [ChangedClass(**one) for one in version.changes])
    if codebook and versions:
        raise ValueError("a class is in no version of the codebook")


def _is_version(version: CodebookVersion, after: Codebook) -> bool:
    """Whether a version has the form that `recording` writes, and changes only classes that exist after it."""
    if not isinstance(version.changes, list) or not version.changes or not isinstance(version.parts, list):
        return False
    numbers = [*version.parts, *([] if version.class_number is None else [version.class_number])]
    return all(type(one) is int and one in after for one in numbers) and all(
        _is_change(one, after) for one in version.changes
    )


def _is_change(change: Any, after: Codebook) -> bool:
    if not isinstance(change, dict) or change.keys() != {"number", "before", "after"}:
        return False
    number, *fields = change["number"], change["before"], change["after"]
    if type(number) is not int or number not in after or not all(_is_fields(one) for one in fields if one is not None):
        return False
    wanted = {*FIELDS} if fields[0] is None else fields[0].keys()
    return fields[1] is not None and fields[1].keys() == wanted


def _is_fields(fields: Any) -> bool:
    """Whether these are fields of a class with values of their types."""
    return isinstance(fields, dict) and all(
        name in FIELDS and (value is None or type(value) is int if name == "merged_into" else isinstance(value, str))
        for name, value in fields.items()
    )
