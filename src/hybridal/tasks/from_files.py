"""Make a task from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybridal.core.label_sets import LabelSets
from hybridal.core.task_source import TaskSource, source_of
from hybridal.errors import UserError
from hybridal.tasks.answers import names_of, number_labels
from hybridal.tasks.class_names import choose_classes, note_joined_names, note_lookalikes, note_many_classes
from hybridal.tasks.label_cells import as_sets, has_several
from hybridal.tasks.overlaps import note_overlaps
from hybridal.tasks.read import LabelColumn, Rows, read_rows, read_tables
from hybridal.tasks.splits import hold_out
from hybridal.tasks.table import list_names
from hybridal.tasks.task import Split, Task


def load_files(
    path: str | Path, *, split_seed: int = 42, notify: Callable[[str], None] | None = None, **options: Any
) -> Task:
    r"""Load the texts of a file in one of the formats of `read.READERS`.

    Without files for them, validation and test are drawn from the rows, stratified by class. By default

    - if labels are known, test is a fifth of the labelled rows and validation about a tenth (see
      `splits.validation_size`);
    - if none is known, or a few (under 200) among many without, validation is 50 random texts that the annotator
      labels first, at most a quarter, and there is no test.

    A text may have several labels if the cells of `label` are lists (in CSV and XLSX as JSON, `["a", "b"]`), if
    `label_separator` stands between them, or if `labels` names an indicator column per class. `[]`, or 0 in every
    column, is none of the classes; an empty cell is unknown.

    Args:
        path: The file.
        split_seed: Seed of the drawn splits.
        notify: Receives messages about skipped rows, repeated texts and labels that differ only in capitals.
        options: Those of `TaskSource`. Without `classes`, they are the labels found, sorted; with it, classes that no
            row has yet may be named. Ids without an id column are row numbers, or `train-17` if there are several
            files.

    Returns:
        The task, with the name of the file.

    Raises:
        UserError: If a file cannot be read, a row is invalid, or the classes are not known.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,kind\n" + "Hello,ham\nWIN NOW,spam\n" * 100)
    >>> task = load_files(path, text="text", label="kind")
    >>> task.name, task.classes, len(task.train), len(task.validation), len(task.test)
    ('mail', ('ham', 'spam'), 110, 50, 40)
    """
    source = source_of(path, **options)
    parts = {"train": source.task, "validation": source.validation, "test": source.test}

    _check_apart(parts)

    label = None
    if source.label is not None:
        label = LabelColumn(source.label, source.multi_label is not False, source.label_separator)

    def rows_of(file: str) -> Rows:
        columns = (source.text or "text", label, source.id)
        return read_rows(file, *columns, drop_empty=source.drop_empty, drop_duplicates=source.drop_duplicates)

    rows = {name: rows_of(file) for name, file in parts.items() if file is not None}
    for part in rows.values():
        if notify is not None and (remark := _remark(part)):
            notify(remark)
    note_overlaps({str(part.table.path): part.texts for part in rows.values()}, _place_in(rows.values()), notify)
    if source.label is None and source.classes is None:
        raise UserError(
            f"{path}: no classes are known; name the label column with `label`, or classes with `classes`."
            + _other_columns(path, source),
            field="label",
        )
    found = [answer for part in rows.values() for answer in part.labels]
    several = has_several(found, True if isinstance(source.label, tuple) else source.multi_label, str(path), notify)
    if several:
        rows = {name: replace(part, labels=as_sets(part.labels)) for name, part in rows.items()}
    asked = source.label if source.classes is None and isinstance(source.label, tuple) else source.classes
    names = choose_classes(rows["train"], [part for name, part in rows.items() if name != "train"], asked, several)
    sets = LabelSets(len(names)) if several else None
    known = names_of(rows["train"].labels)
    note_many_classes(str(path), names, len(known), notify)
    note_lookalikes(str(path), known, source.classes or (), notify)
    note_joined_names(str(path), known, source.classes or (), notify)
    splits = {name: _split(part, name if len(rows) > 1 else None, names, sets) for name, part in rows.items()}
    _check_ids(rows, splits)
    sizes = {"validation": source.validation_size, "test": source.test_size}
    given = {name: f"the file {file}" for name, file in parts.items()}
    parts_drawn = hold_out(str(path), splits, sizes, split_seed, given, sets)
    task = Task(Path(path).stem, names, *parts_drawn, label_sets=sets)
    return task if source.max_words is None else task.short(source.max_words)


def _remark(rows: Rows) -> str | None:
    """Describe skipped and repeated rows: identical texts may be in train and test, and metrics are then too high."""
    repeated = len(rows) - len(set(rows.texts))
    parts = [
        (rows.empty, "without a text left out"),
        (rows.duplicates, "with a text that came before left out"),
        (repeated, "repeat a text that came before"),
    ]
    counts = ", ".join(f"{count} {what}" for count, what in parts if count)
    return f"{rows.table.path}: {len(rows)} rows, {counts}." if counts else None


def _other_columns(path: str | Path, source: TaskSource) -> str:
    """A sentence with the columns of a file that may have the labels; "" if there is none."""
    used = (source.text or "text", source.id)
    first = next(read_tables(path, used[:1], others=True))
    names = [name for name in first.columns if name not in used]
    return f" Its other columns are {list_names(names)}." if names else ""


def _check_apart(parts: Mapping[str, str | Path | None]) -> None:
    """Refuse the same file for two splits: the model would be evaluated on its training texts."""
    seen: dict[Path, str] = {}
    for name, file in parts.items():
        if file is not None and (first := seen.setdefault(Path(file).resolve(), name)) != name:
            raise UserError(
                f"`{name}`: {file} is the file of {first}, too; name another one, or leave it out, so that {name} is "
                "drawn.",
                field=name,
            )


def _place_in(parts: Iterable[Rows]) -> Callable[[str, int], str]:
    tables = {str(part.table.path): part.table for part in parts}
    return lambda path, row: tables[path].at(row)


def _split(rows: Rows, prefix: str | None, classes: Sequence[str], label_sets: LabelSets | None) -> Split:
    """Convert labels to numbers, and drop rows of other classes."""
    keep, labels = number_labels(rows.labels, classes, label_sets)
    mark = f"{prefix}-" if prefix and rows.numbered else ""
    return Split([mark + rows.ids[i] for i in keep], [rows.texts[i] for i in keep], labels)


def _check_ids(rows: Mapping[str, Rows], splits: Mapping[str, Split]) -> None:
    seen: dict[str, str] = {}
    for name, split in splits.items():
        for id in split.ids:
            if id in seen:
                first, second = rows[seen[id]].table.path, rows[name].table.path
                raise UserError(f"{second}: the id '{id:.40}' is also in {first}; make ids unique over all files.")
        seen.update(dict.fromkeys(split.ids, name))
