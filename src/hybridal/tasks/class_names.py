"""Choose the classes of a task from the labels and the option `classes`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from hybridal.errors import UserError
from hybridal.tasks.answers import names_of
from hybridal.tasks.class_name_checks import check_classes
from hybridal.tasks.read import Rows

SEPARATORS = (";", ",", "|", "/", "+")
"""What often stands between the classes of a text."""

_log = logging.getLogger(__name__)
# Maximum number of similar names in a message: a column of free text has hundreds.
MAX_LISTED_GROUPS = 5
# With more classes than this, rounds are slow.
MANY_CLASSES = 1000
# With more distinct numbers, labels are measurements and not grades, such as half stars of a review.
MAX_GRADES = 20


def sort_names(names: Iterable[str]) -> tuple[str, ...]:
    """Sorted as numbers if all of them are, so that 10 follows 9, else as strings.

    >>> sort_names({"10", "9"}), sort_names({"ham", "Eggs"})
    (('9', '10'), ('Eggs', 'ham'))
    """
    unique = set(names)
    if all(name.isascii() and name.isdigit() for name in unique):
        return tuple(sorted(unique, key=lambda name: (int(name), name)))
    return tuple(sorted(unique))


def choose_classes(
    train: Rows, others: Sequence[Rows], asked: Sequence[str] | None, several: bool = False
) -> tuple[str, ...]:
    """Return the class names of a task.

    The requested classes may omit some that the rows have, or add some that no row has yet, but not both: then a name
    is probably misspelt, and the intended class would be dropped silently. If every row has a label, each class needs a
    row, unless a text may have `several` classes.

    >>> from pathlib import Path
    >>> from hybridal.tasks.table import FileTable
    >>> file = FileTable(Path("mail.csv"), {}, "line", [2, 3])
    >>> rows = Rows(["1", "2"], ["Hello", "WIN"], ["ham", "spam"], file, True)
    >>> choose_classes(rows, [], None), choose_classes(rows, [], ["spam", "ham"])
    (('ham', 'spam'), ('spam', 'ham'))
    """
    known = names_of(train.labels)
    found = sort_names(known)
    where = train.table.path
    if asked is None:
        refuse_measurements(str(where), known)
        if not found:
            raise UserError(f"{where}: no row has a label; name the classes with `classes`.", field="classes")
        if len(found) == 1:
            raise UserError(
                f"{where}: every label is '{found[0]}'; two classes or more are needed, name all with `classes`.",
                field="classes",
            )
        names = found
    else:
        check_classes(asked)
        names = tuple(asked)
        absent = [name for name in names if name not in found]
        left_out = [name for name in found if name not in names]
        if absent and (left_out or (not several and None not in train.labels)):
            raise UserError(
                f"{where}: no row has the class '{absent[0]}' of `classes`; those found are {', '.join(found)}.",
                field="classes",
            )
    for rows in others:
        for row, answer in enumerate(rows.labels):
            for label in sorted(names_of([answer])):
                if label not in names and label not in found:
                    raise UserError(
                        f"{rows.table.at(row)}: the label '{label}' does not occur in {where}, which has "
                        f"{', '.join(found) or 'none'}; correct it, or name all classes with `classes`.",
                        field="classes",
                    )
    return names


def refuse_measurements(where: str, labels: Iterable[str | None]) -> None:
    """Refuse measurements such as 0.273 as labels: nearly each would be a separate class.

    Args:
        where: The file or task, for the sentence.
        labels: The labels as texts; None where there is none.

    Raises:
        UserError: More than `MAX_GRADES` different numbers, some with a fraction, for fewer than twice as many labels.

    Example:
        >>> refuse_measurements("scores.csv", [str(row / 64) for row in range(64)])
        Traceback (most recent call last):
        hybridal.errors.UserError: scores.csv: its 64 labels are 64 different numbers, such as 0.0: they measure ...
    """
    known = [label for label in labels if label is not None]
    names = set(known)
    if len(names) <= MAX_GRADES or len(known) >= 2 * len(names):
        return
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return
    if not all(number.is_integer() for number in numbers):
        raise UserError(
            f"{where}: its {len(known)} labels are {len(names)} different numbers, such as {known[0]}: they measure "
            "something, they do not name classes; divide them into classes first, such as low and high.",
            field="label",
        )


def note_many_classes(
    where: str, names: Sequence[str], labelled: int, notify: Callable[[str], None] | None = None
) -> None:
    """Warn that rounds are slow with very many classes, usually because the wrong column was chosen.

    Args:
        where: The file or task, for the sentence.
        names: The classes.
        labelled: How many labels there are.
        notify: Gets the sentence; without it, it is logged.

    Example:
        >>> note_many_classes("mail.csv", [f"topic {n}" for n in range(2000)], 4000, notify=print)
        mail.csv: 2,000 classes for 4,000 labels; with more than 1,000 a round can take minutes: is it the column of ...
    """
    if len(names) > MANY_CLASSES:
        (notify or _log.warning)(
            f"{where}: {len(names):,} classes for {labelled:,} labels; with more than {MANY_CLASSES:,} a round can "
            "take minutes: is it the column of labels?"
        )


def note_lookalikes(
    where: str, found: Iterable[str | None], asked: Sequence[str], notify: Callable[[str], None] | None = None
) -> None:
    """Warn about labels that differ only in case or blanks; they stay separate classes.

    There is no warning if all of them were requested by name. Without `notify` the message is logged.

    >>> note_lookalikes("mail.csv", ["Bug", "bug", "idea"], [], notify=print)
    mail.csv: 'Bug' and 'bug' are different classes, though only capitals or blanks differ; spell them alike if they ...
    """
    groups = _lookalikes({*filter(None, found), *asked}, {*asked})
    if not groups:
        return
    shown = [f"{', '.join(map(repr, group[:-1]))} and {group[-1]!r}" for group in groups[:MAX_LISTED_GROUPS]]
    shown += [f"{len(groups) - MAX_LISTED_GROUPS} more"] if len(groups) > MAX_LISTED_GROUPS else []
    (notify or _log.warning)(
        f"{where}: {', '.join(shown)} are different classes, though only capitals or blanks differ; spell them "
        "alike if they mean the same."
    )


def note_joined_names(
    where: str, found: Iterable[str | None], asked: Sequence[str], notify: Callable[[str], None] | None = None
) -> None:
    """Warn about a label that consists of others, such as "food; sport": several labels of a text that were not split.

    There is no warning if it was requested by name. Without `notify` the message is logged.

    >>> note_joined_names("mail.csv", ["food", "sport", "food; sport"], [], notify=print)
    mail.csv: the class 'food; sport' seems to be several, food and sport; if a text may have several, name what ...
    """
    names = {*filter(None, found)}
    for name in sorted(names - {*asked}):
        for separator in SEPARATORS:
            parts = [part.strip() for part in name.split(separator)]
            if len(parts) > 1 and names.issuperset(parts):
                (notify or _log.warning)(
                    f"{where}: the class '{name:.60}' seems to be several, {', '.join(parts[:-1])} and {parts[-1]}; if "
                    f"a text may have several, name what stands between them: `label_separator` {separator!r}."
                )
                return


def _lookalikes(names: set[str], asked: set[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        groups.setdefault(" ".join(name.casefold().split()), []).append(name)
    return [group for group in groups.values() if len(group) > 1 and not asked.issuperset(group)]
