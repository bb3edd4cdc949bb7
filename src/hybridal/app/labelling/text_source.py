"""Read a project's texts from a file with columns, or from a named task without its labels."""

from __future__ import annotations

import json
import logging
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybridal.app.app_errors import TooLargeError
from hybridal.app.labelling.classes import LONGEST_DESCRIPTION
from hybridal.app.labelling.texts import LONGEST_ID, LONGEST_TEXT, GivenRow, Row
from hybridal.core.task_source import check_labels
from hybridal.errors import UserError
from hybridal.tasks import load_task, task_names
from hybridal.tasks.answers import Answer, names_of, only_classes
from hybridal.tasks.class_name_checks import check_classes
from hybridal.tasks.class_names import choose_classes, note_joined_names, sort_names
from hybridal.tasks.columns import Columns, guess_columns
from hybridal.tasks.label_cells import as_sets, has_several
from hybridal.tasks.mirror import same_name
from hybridal.tasks.read import LabelColumn, Rows, read_rows, read_tables
from hybridal.tasks.table import NoColumnError

MOST_BYTES = 500_000_000
PREVIEW_ROWS, LONGEST_CELL = 5, 200
LONGEST_CONTEXT = 10_000  # characters of any other column


@dataclass(frozen=True)
class Source:
    """Texts to create a project from.

    Attributes:
        name: The name of the file or the task.
        rows: The texts with their labels.
        classes: The classes that are known from the start.
        numbered: The ids are only row numbers.
        suggested: Labels are suggestions, not answers.
        multi_label: Whether a text may have several classes.
        empty: How many rows without text were left out.
        duplicates: How many duplicate texts were left out.
    """

    name: str
    rows: Sequence[GivenRow]
    classes: tuple[str, ...] = ()
    numbered: bool = False
    suggested: bool = False
    empty: int = 0
    duplicates: int = 0
    multi_label: bool = False


def read_source(
    source: str | Path,
    *,
    text: str | None = None,
    label: str | tuple[str, ...] | None = None,
    id: str | None = None,
    classes: Sequence[str] | None = None,
    most: int | None = None,
    drop_empty: bool = False,
    drop_duplicates: bool = False,
    suggested: bool = False,
    multi_label: bool | None = None,
    label_separator: str | None = None,
    notify: Callable[[str], None] | None = None,
) -> Source:
    """Read a file (see `read_rows` for the options), or the texts of a named task to try things out.

    Whether a text may have several classes, and how they are written, is as for `Task.from_file`; `notify` is told what
    the labels tell.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,kind\\nHello,ham\\nWIN,\\n")
    >>> found = read_source(path, label="kind")
    >>> found.name, found.classes, [row[:3] for row in found.rows]
    ('mail', ('ham',), [('1', 'Hello', 'ham'), ('2', 'WIN', None)])
    """
    if same_name(str(source)) in {same_name(name) for name in task_names()} and not Path(source).exists():
        task = load_task(source, classes=classes)
        pairs = zip(task.train.ids, task.train.texts, strict=True)
        several = task.multi_label or bool(multi_label)
        return Source(task.name, [Row(id, body) for id, body in pairs], task.classes, multi_label=several)
    if most is not None:
        check_unpacked_size(Path(source), most)
    columns, body = _label_column(label, multi_label, label_separator), text or "text"
    rows = read_rows(
        source, body, columns, id, most, drop_empty=drop_empty, drop_duplicates=drop_duplicates, others=True
    )
    _check_lengths(rows)
    several = has_several(rows.labels, True if isinstance(label, tuple) else multi_label, str(source), notify)
    labels: Sequence[Answer | None] = as_sets(rows.labels) if several else rows.class_names
    contexts = _contexts(rows, [body, id, *(columns.names if columns else ())])
    given = [Row(*row) for row in zip(rows.ids, rows.texts, labels, contexts, strict=True)]
    found = Source(Path(source).stem, given, (), rows.numbered, suggested, rows.empty, rows.duplicates, several)
    if classes is None:
        return replace(found, classes=_class_names(label, labels))
    return _only(found, replace(rows, labels=labels), classes)


def _label_column(
    label: str | tuple[str, ...] | None, multi_label: bool | None, separator: str | None
) -> LabelColumn | None:
    check_labels(label, multi_label, separator)
    return None if label is None else LabelColumn(label, multi_label is not False, separator)


def _class_names(label: str | tuple[str, ...] | None, labels: Iterable[Answer | None]) -> tuple[str, ...]:
    """The names of indicator columns, or all names of classes among the labels."""
    return label if isinstance(label, tuple) else tuple(sort_names(names_of(labels)))


def _contexts(rows: Rows, columns: Sequence[str | None]) -> list[dict[str, str]]:
    """The non-empty values of all other columns, per row."""
    others = {name: values for name, values in rows.table.columns.items() if name not in columns}
    return [
        {name: value for name, values in others.items() if (value := _written(values[row]))} for row in range(len(rows))
    ]


def _written(value: Any) -> str:
    """Format a value of any type; broken Unicode characters, which databases refuse, are replaced."""
    if value is None or isinstance(value, str):
        words = value or ""
    else:
        words = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else str(value)
    return words[:LONGEST_CONTEXT].encode(errors="replace").decode().strip()


def _check_lengths(rows: Rows) -> None:
    for what, strings, longest in (("text", rows.texts, LONGEST_TEXT), ("id", rows.ids, LONGEST_ID)):
        for row, string in enumerate(strings):
            if len(string) > longest:
                raise UserError(
                    f"{rows.table.at(row)}: the {what} has {len(string)} characters; the limit is {longest}; "
                    "shorten it or remove the row."
                )


def _only(found: Source, rows: Rows, classes: Sequence[str]) -> Source:
    """Leave out other classes, and rows that have only such a label if a text has exactly one."""
    if any(label is not None for label in rows.labels):
        names = choose_classes(rows, [], classes, found.multi_label)
        if found.multi_label:
            only = [Row(*row)._replace(label=only_classes(row[2], names)) for row in found.rows]
        else:
            only = [Row(*row) for row in found.rows if row[2] is None or row[2] in names]
        return replace(found, classes=names, rows=only)
    check_classes(classes)
    return replace(found, classes=tuple(classes))


@dataclass(frozen=True)
class Preview:
    """What a file contains, for the user to confirm before anything is added.

    Attributes:
        columns: Names of all columns.
        first: The first rows.
        chosen: The columns for text, label and id.
        rows: How many rows there are.
        empty: How many have no text.
        duplicates: How many have the text of an earlier row.
        labelled: How many have a label.
        labels: How often each class occurs.
        descriptions: What a column says of the classes.
        multi_label: Whether a text may have several classes.
        problem: Why the file cannot be read with these columns; the counts are then 0.
        notices: What its reader warned of, once for each file: for example, that other sheets are not read.
    """

    columns: list[str]
    first: list[list[str]]
    chosen: Columns
    rows: int = 0
    empty: int = 0
    duplicates: int = 0
    labelled: int = 0
    labels: Mapping[str, int] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    multi_label: bool = False
    problem: str = ""
    notices: Sequence[str] = ()


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the warnings that this thread logs."""
    found: list[str] = []
    thread, logger = threading.get_ident(), logging.getLogger("hybridal.tasks")

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread:
                found.append(record.getMessage())

    handler = Collector(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)


def preview_file(
    path: Path,
    chosen: Columns | None,
    most: int,
    multi_label: bool | None = None,
    label_separator: str | None = None,
    description: str | None = None,
) -> Preview:
    """Preview a file with the chosen columns, or with those that its first rows suggest.

    Args:
        path: The file.
        chosen: The columns; None guesses them.
        most: Refuse files with more rows.
        multi_label: Whether a text may have several classes; None if the labels tell.
        label_separator: What stands between the classes in a cell.
        description: The column that describes the class of each row.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("body,kind\\nHello,ham\\n,ham\\nHello,\\n")
    >>> found = preview_file(path, None, most=10)
    >>> found.chosen.text, found.first[0], found.rows, found.empty, found.duplicates, found.labels
    ('body', ['Hello', 'ham'], 3, 1, 1, {'ham': 1})
    """
    with _warnings() as notices:
        return replace(_preview(path, chosen, most, multi_label, label_separator, description), notices=notices)


def _preview(
    path: Path,
    chosen: Columns | None,
    most: int,
    multi_label: bool | None,
    separator: str | None,
    description: str | None,
) -> Preview:
    check_unpacked_size(path, most)
    begins = next(read_tables(path, [], others=True))
    if not begins.columns:
        raise UserError(f"{path}: no column has a name; name them in the first row, or as keys of each object.")
    columns = chosen or guess_columns(begins.columns)
    cells = [[_cell(value) for value in values[:PREVIEW_ROWS]] for values in begins.columns.values()]
    found = Preview([*begins.columns], [list(row) for row in zip(*cells, strict=True)], columns)
    try:
        label = _label_column(columns.label, multi_label, separator)
        options = {"drop_empty": True, "drop_duplicates": True, "others": description is not None}
        rows = read_rows(path, columns.text, label, columns.id, most, **options)
        if description is not None and description not in rows.table.columns:
            return replace(found, problem=f"{path}: there is no column '{description:.40}'.")
        _check_lengths(rows)
    except NoColumnError as error:
        return replace(found, problem=f"{error.found}.")
    except UserError as error:
        return replace(found, problem=str(error))
    several = has_several(rows.labels, True if isinstance(columns.label, tuple) else multi_label, str(path))
    labels = Counter(sorted(names_of(as_sets(rows.labels) if several else rows.class_names)))
    note_joined_names(path.name, labels, ())
    total = len(rows) + rows.empty + rows.duplicates
    return replace(
        found,
        rows=total,
        empty=rows.empty,
        duplicates=rows.duplicates,
        labelled=sum(label is not None for label in rows.labels),
        labels=dict(labels.most_common()),
        descriptions={} if description is None else _descriptions(rows, description, several),
        multi_label=several,
    )


def _descriptions(rows: Rows, column: str, several: bool) -> dict[str, str]:
    """The first description of each class, from rows with one class."""
    found: dict[str, str] = {}
    labels = as_sets(rows.labels) if several else rows.class_names
    for label, value in zip(labels, rows.table.columns[column], strict=True):
        names = [*names_of([label])]
        if len(names) == 1 and (words := " ".join(_written(value).split())):
            found.setdefault(names[0], words[:LONGEST_DESCRIPTION])
    return found


def _cell(value: Any) -> str:
    written = _written(value)
    return written if len(written) <= LONGEST_CELL else written[:LONGEST_CELL] + " …"


def check_unpacked_size(path: Path, most_rows: int) -> None:
    """Refuses a Parquet or Excel file that would fill the memory; what is neither is left to its reader."""
    import pyarrow
    from pyarrow import compute, parquet, types

    _check_size(path, 0, _unzipped_bytes(path), most_rows)
    try:
        every = range(parquet.read_metadata(path).num_columns)
        # Words that are repeated are read once, and their lengths added up.
        with parquet.ParquetFile(path, read_dictionary=every) as file:
            words = [field.name for field in file.schema_arrow if types.is_dictionary(field.type)]
            groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
            _check_size(path, file.metadata.num_rows, sum(group.total_byte_size for group in groups), most_rows)
            total = 0
            for batch in file.iter_batches(columns=words):
                for column in batch.columns:
                    if not types.is_dictionary(column.type):
                        continue  # it shares its name with a column of strings
                    lengths = compute.binary_length(column.dictionary).cast("int64")
                    total += compute.sum(lengths.take(column.indices)).as_py() or 0
                _check_size(path, file.metadata.num_rows, total, most_rows)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
        return  # its reader reports the error


def _unzipped_bytes(path: Path) -> int:
    """The unpacked size of an archive; 0 for other files and damaged ones."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return 0


def _check_size(path: Path, rows: int, total: int, most_rows: int) -> None:
    if rows > most_rows or total > MOST_BYTES:
        raise TooLargeError(
            f"{path}: uncompressed it has {rows} rows and at least {total} bytes; "
            f"{most_rows} rows and {MOST_BYTES} bytes are the limit."
        )
