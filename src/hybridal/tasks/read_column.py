"""Read a further column of a task's files, such as a date, by the ids of its texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridal.core.task_source import TaskSource
from hybridal.errors import UserError
from hybridal.tasks.read import READERS, read_rows
from hybridal.tasks.table import list_names


def column_by_id(source: TaskSource, column: str) -> dict[str, Any]:
    r"""Return the values of a column by the ids that `load_task` gives to the rows.

    Args:
        source: Where the texts of the task come from.
        column: The column.

    Returns:
        The value of each row, None where it is missing.

    Raises:
        UserError: If the task is no file, the file is gone, or it has no such column.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,sent\nHello,2024-01-02\nYou,2024-02-03\n")
    >>> column_by_id(TaskSource(str(path)), "sent")
    {'1': '2024-01-02', '2': '2024-02-03'}
    """
    parts = {"train": source.task, "validation": source.validation}
    files = {name: Path(file) for name, file in parts.items() if file is not None}
    several = source.validation is not None or source.test is not None
    for file in files.values():
        if file.suffix.lower() not in READERS or not file.is_file():
            raise UserError(
                f"The texts come from {file}, which is no file that is here now; name the file with the column "
                f"'{column:.40}' with `data`.",
                field="data",
            )
    found: dict[str, Any] = {}
    for name, file in files.items():
        rows = read_rows(
            file,
            source.text or "text",
            id=source.id,
            drop_empty=source.drop_empty,
            drop_duplicates=source.drop_duplicates,
            others=True,
        )
        if column not in rows.table.columns:
            there = list_names([*rows.table.columns])
            raise UserError(f"{file} has no column '{column:.40}'; its columns are: {there}.", field="by")
        mark = f"{name}-" if several and rows.numbered else ""
        found |= {mark + id: value for id, value in zip(rows.ids, rows.table.columns[column], strict=True)}
    return found
