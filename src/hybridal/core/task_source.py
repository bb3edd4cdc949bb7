"""Where the texts of a task come from: a name, or a file with its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hybridal.core.checked import type_errors
from hybridal.errors import UserError
from hybridal.registry import hint_or_list

# Fields that are left out of records and keys while they are not given: keys of recorded studies stay as they were.
LATER_FIELDS = ("multi_label", "label_separator", "descriptions")


@dataclass(frozen=True)
class TaskSource:
    """Where the texts of a task come from: the arguments of `load_task`, and the settings of a run and of a study.

    Attributes:
        task: A name that `hybridal list tasks` prints, or a path.
        text: Column with the texts; None takes "text".
        label: Column with the labels; several columns hold 0 or 1 for each class.
        id: Column with the ids; None numbers the rows.
        validation: File with the validation split, with the same columns.
        test: File with the test split.
        validation_size: How many validation texts are drawn: a count, or a share below 1; None takes the default.
        test_size: How many test texts are drawn.
        classes: Keep these classes only, in this order.
        max_words: Skip longer texts.
        drop_empty: Skip rows without a text, which are refused otherwise.
        drop_duplicates: Keep only the first of identical texts.
        multi_label: Whether a text may have several classes; None if the labels tell: lists in cells, several label
            columns and a separator mean that it may.
        label_separator: What stands between the classes in a cell.
        descriptions: File with descriptions of classes: JSON, YAML or CSV.

    Raises:
        UserError: If a value is of the wrong type.

    Example:
        >>> TaskSource("mail.csv", label="kind", classes=("ham", "spam")).options["label"]
        'kind'
    """

    task: str
    text: str | None = None
    label: str | tuple[str, ...] | None = None
    id: str | None = None
    validation: str | None = None
    test: str | None = None
    validation_size: float | None = None
    test_size: float | None = None
    classes: tuple[str, ...] | None = None
    max_words: int | None = None
    drop_empty: bool = False
    drop_duplicates: bool = False
    multi_label: bool | None = None
    label_separator: str | None = None
    descriptions: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.text, list | tuple):
            raise UserError(
                "`text` names several columns; pairs of texts are not supported: join each pair to one text.",
                field="text",
            )
        for name, wrong in type_errors(self):
            raise UserError(f"The setting '{name}' {wrong}.", field=name)
        for name, value in vars(self).items():
            if isinstance(value, str) and "\0" in value:  # no path can have one, and no name needs one
                raise UserError(f"The setting '{name}' contains a NUL character; remove it.", field=name)
        check_labels(self.label, self.multi_label, self.label_separator)

    @property
    def source(self) -> TaskSource:
        """These fields only; the settings of a run have more."""
        return TaskSource(**{field.name: getattr(self, field.name) for field in fields(TaskSource)})

    @property
    def key_values(self) -> list[Any]:
        """The values that tell one task from another."""
        found = {field.name: getattr(self, field.name) for field in fields(TaskSource)}
        return [value for name, value in found.items() if name not in LATER_FIELDS or value is not None]

    @property
    def options(self) -> dict[str, Any]:
        """All fields except `task`, as arguments of `load_task`; whole sizes are counts."""
        found = {field.name: getattr(self, field.name) for field in fields(TaskSource) if field.name != "task"}
        return found | {name: _size(found[name]) for name in ("validation_size", "test_size")}


def check_labels(label: Any, multi_label: bool | None, separator: str | None) -> None:
    """Refuse options about labels that contradict each other.

    >>> check_labels("kind", None, ";")
    """
    if isinstance(label, tuple) and len(label) < 2:
        raise UserError("`label` lists fewer than two columns; list a column per class, or name one.", field="label")
    if separator == "":
        raise UserError(
            "`label_separator` is empty; name what stands between labels, such as ';'.", field="label_separator"
        )
    if separator is not None and isinstance(label, tuple):
        raise UserError(
            "`label_separator` is for one column of labels, not for a column per class; leave it out.",
            field="label_separator",
        )
    if multi_label is False and (separator is not None or isinstance(label, tuple)):
        several = "a column per class" if separator is None else "`label_separator`"
        raise UserError(
            f"`multi_label` is false, and {several} means several labels per text; leave out one of the two.",
            field="multi_label",
        )


def source_of(name_or_path: str | Path, labels: Sequence[str] | None = None, **options: Any) -> TaskSource:
    """Make a source from arguments: paths may be `Path`s, and classes any sequence, also of numbers.

    Args:
        name_or_path: The task.
        labels: The indicator columns, one per class, in place of `label`.
        options: Fields of `TaskSource`.

    >>> source_of("mail.csv", classes=range(2)).classes
    ('0', '1')
    """
    known = [field.name for field in fields(TaskSource) if field.name != "task"]
    for name in options:
        if name not in known:
            raise UserError(f"`{name}` is not an option of a task; {hint_or_list(name, known)}", field=name)
    plain: dict[str, Any] = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    if labels is not None:
        plain["label"] = indicator_columns(labels, plain.get("label"))
    if plain.get("classes") is not None and not isinstance(plain["classes"], str):
        asked = plain["classes"]
        in_order = sorted(asked) if isinstance(asked, set | frozenset) else asked  # a set has no order
        plain["classes"] = tuple(map(str, in_order))
    return TaskSource(str(name_or_path), **plain)


def indicator_columns(labels: Any, label: Any) -> tuple[Any, ...]:
    """Return the indicator columns; refuse one column, which `label` names, and both together.

    >>> indicator_columns(["sport", "food"], None)
    ('sport', 'food')
    """
    if label is not None:
        raise UserError("`label` is one column of labels, `labels` is a column per class; name one of the two.")
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise UserError(f"`labels` is {labels!r:.40}; give a list of columns, one per class, or name one with `label`.")
    columns = tuple(labels)
    if len(columns) < 2:
        raise UserError(f"`labels` names {len(columns)} columns; give one per class, or name one with `label`.")
    return columns


def _size(asked: float | None) -> int | float | None:
    """Return whole sizes as counts."""
    return int(asked) if asked is not None and asked >= 1 and float(asked).is_integer() else asked
