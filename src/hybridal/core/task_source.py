"""Where a task comes from, as it is asked for: by name, or as a file with its columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hybridal.core.checked import type_errors
from hybridal.errors import UserError
from hybridal.registry import hint_or_list


@dataclass(frozen=True)
class TaskSource:
    """A task, asked for. These are also the settings of a run, its options, and the arguments of `load_task`.

    `task` is a name or a path. `text`, `label` and `id` name the columns of a file. `validation` and `test` are files
    of the same columns; or as many texts as `validation_size` and `test_size` say are drawn for them, a count, or a
    share below 1. `classes` keeps these classes alone, and `max_words` leaves longer texts out. Of a file,
    `drop_empty` leaves rows without a text out, which are refused otherwise, and `drop_duplicates` keeps the first of
    equal texts.

    >>> source_of("mail.csv", label="kind", classes=["ham", "spam"]).classes
    ('ham', 'spam')
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
        """The source alone, of a run's settings too."""
        return TaskSource(**{field.name: getattr(self, field.name) for field in fields(TaskSource)})

    @property
    def options(self) -> dict[str, Any]:
        """All but the name, as `load_task` takes them; sizes are counts where they are whole."""
        found = {field.name: getattr(self, field.name) for field in fields(TaskSource) if field.name != "task"}
        return found | {name: _size(found[name]) for name in ("validation_size", "test_size")}


def source_of(name_or_path: str | Path, **options: Any) -> TaskSource:
    """Make a source from arguments: paths may be `Path`s, and classes any sequence, also of numbers."""
    known = [field.name for field in fields(TaskSource) if field.name != "task"]
    for name in options:
        if name not in known:
            raise UserError(f"`{name}` is not an option of a task; {hint_or_list(name, known)}", field=name)
    plain: dict[str, Any] = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    if plain.get("classes") is not None and not isinstance(plain["classes"], str):
        asked = plain["classes"]
        in_order = sorted(asked) if isinstance(asked, set | frozenset) else asked  # a set has none
        plain["classes"] = tuple(map(str, in_order))
    return TaskSource(str(name_or_path), **plain)


def _size(asked: float | None) -> int | float | None:
    """A count where it is whole, else a share."""
    return int(asked) if asked is not None and asked >= 1 and float(asked).is_integer() else asked
