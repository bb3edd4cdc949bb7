"""Refuse class names that cannot be: empty, repeated, or as long as a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybridal.errors import UserError

# Class names stand in messages, tables and reports; longer ones are texts.
MAX_CLASS_NAME = 1000


def check_name_lengths(what: str, names: Iterable[str]) -> None:
    """Refuse class names of more than `MAX_CLASS_NAME` characters: they are texts from the wrong column.

    >>> check_name_lengths("mail.csv: a label", ["ham", "x" * 2000])
    Traceback (most recent call last):
    hybridal.errors.UserError: mail.csv: a label has 2,000 characters ('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'); ...
    """
    for name in names:
        if len(name) > MAX_CLASS_NAME:
            raise UserError(
                f"{what} has {len(name):,} characters ('{name:.40}…'); a class name has at most {MAX_CLASS_NAME:,}: "
                "shorten it, or name the column of labels."
            )


def check_classes(classes: Sequence[str]) -> None:
    """Require at least two distinct, non-empty class names of at most `MAX_CLASS_NAME` characters.

    >>> check_classes(["spam", "ham"])
    """
    if isinstance(classes, str):
        raise UserError(f"`classes`: '{classes:.40}' is one text; give a list of names.", field="classes")
    check_name_lengths("`classes`: a name", classes)
    if len(set(classes)) < len(classes):
        twice = next(name for name in classes if list(classes).count(name) > 1)
        raise UserError(f"`classes`: '{twice}' is named twice; name each class once.", field="classes")
    if not all(name.strip() for name in classes):
        raise UserError("`classes`: a class name is empty; name each class.", field="classes")
    if len(classes) < 2:
        raise UserError(
            f"`classes`: one class, '{''.join(classes)}', leaves nothing to learn; name two or more.", field="classes"
        )
