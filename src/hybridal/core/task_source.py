"""Where the texts of a task come from: a name, or a file with its columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hybridal.core.checked import type_errors
from hybridal.errors import UserError
from hybridal.registry import hint_or_list


@dataclass(frozen=True)
class TaskSource:
    """Where the texts of a task come from: the arguments of `load_task`, and the settings of a run and of a study.

    Attributes:
        task: A name that `hybridal list tasks` prints, or a path.
        text: Column with the texts; None takes "text".
        label: Column with the labels.
        id: Column with the ids; None numbers the rows.
        validation: File with the validation split, with the same columns.
        test: File with the test split.
        validation_size: How many validation texts are drawn: a count, or a share below 1; None takes the default.
        test_size: How many test texts are drawn.
        classes: Keep these classes only, in this order.
        max_words: Skip longer texts.
        drop_empty: Skip rows without a text, which are refused otherwise.
        drop_duplicates: Keep only the first of identical texts.

    Raises:
        UserError: If a value is of the wrong type.

    Example:
        >>> TaskSource("mail.csv", label="kind", classes=("ham", "spam")).options["label"]
        'kind'
    """

    task: str
    text: str | None = None
    label: str | None = None
    id: str | None = None
    validation: str | None = None
    test: str | None = None
    validation_size: float | None = None
    test_size: float | None = None
    classes: tuple[str, ...] | None = None
    max_words: int | None = None
    drop_empty: bool = False
    drop_duplicates: bool = False

    def __post_init__(self) -> None:
        for name, wrong in type_errors(self):
            raise UserError(f"The setting '{name}' {wrong}.", field=name)
        for name, value in vars(self).items():
            if isinstance(value, str) and "\0" in value:  # no path can have one, and no name needs one
                raise UserError(f"The setting '{name}' contains a NUL character; remove it.", field=name)

    @property
    def source(self) -> TaskSource:
        """These fields only; the settings of a run have more."""
        return TaskSource(**{field.name: getattr(self, field.name) for field in fields(TaskSource)})

    @property
    def options(self) -> dict[str, Any]:
        """All fields except `task`, as arguments of `load_task`; whole sizes are counts."""
        found = {field.name: getattr(self, field.name) for field in fields(TaskSource) if field.name != "task"}
        return found | {name: _size(found[name]) for name in ("validation_size", "test_size")}


def source_of(name_or_path: str | Path, **options: Any) -> TaskSource:
    """Make a source from arguments: paths may be `Path`s, and classes any sequence, also of numbers.

    >>> source_of("mail.csv", classes=range(2)).classes
    ('0', '1')
    """
    known = [field.name for field in fields(TaskSource) if field.name != "task"]
    for name in options:
        if name not in known:
            raise UserError(f"`{name}` is not an option of a task; {hint_or_list(name, known)}", field=name)
    plain: dict[str, Any] = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    if plain.get("classes") is not None and not isinstance(plain["classes"], str):
        asked = plain["classes"]
        in_order = sorted(asked) if isinstance(asked, set | frozenset) else asked  # a set has no order
        plain["classes"] = tuple(map(str, in_order))
    return TaskSource(str(name_or_path), **plain)


def _size(asked: float | None) -> int | float | None:
    """Return whole sizes as counts."""
    return int(asked) if asked is not None and asked >= 1 and float(asked).is_integer() else asked
