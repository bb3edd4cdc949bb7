"""Read descriptions of classes from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.tasks.file_formats import read_csv
from hybridal.tasks.label_values import label_text
from hybridal.tasks.task import Task

CLASS, DESCRIPTION = "class", "description"


def with_descriptions_from(task: Task, path: str | Path) -> Task:
    r"""Add the descriptions in a file to a task.

    Args:
        task: The task.
        path: JSON or YAML with a text or a list of texts per class, or CSV with the columns `class` and `description`
            and a row per text.

    Returns:
        A new task.

    Raises:
        UserError: If the file cannot be read, or a class is not one of the task's.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "classes.csv"
        >>> _ = path.write_text("class,description\nLOC,a place\nLOC,Where is Oslo?\n")
        >>> task = Task.from_texts(["Where is it?", "Who is it?"] * 20, ["LOC", "HUM"] * 20)
        >>> with_descriptions_from(task, path).descriptions
        {'LOC': ('a place', 'Where is Oslo?')}
    """
    try:
        return task.with_descriptions(read_descriptions(Path(path)))
    except UserError as error:
        raise UserError(f"`descriptions`, {path}: {error}", field="descriptions") from error


def read_descriptions(path: Path) -> Mapping[Any, Any]:
    """Read descriptions by class name; see `with_descriptions_from`."""
    kind = path.suffix.lower()
    if kind == ".csv":
        return _from_csv(path)
    if kind not in (".json", ".yaml", ".yml"):
        raise UserError(f"the extension '{path.suffix}' is not known; use .json, .yaml or .csv.")
    found = _parsed(path, kind)
    if not isinstance(found, Mapping):
        raise UserError(f"it holds a {type(found).__name__}; write a text or a list of texts for each class.")
    return found


def _parsed(path: Path, kind: str) -> Any:
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if kind == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"it cannot be read ({error.strerror}); check the path and its permissions.") from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"it is not valid ({str(error).partition(chr(10))[0]:.80}); correct it.") from error


def _from_csv(path: Path) -> Mapping[str, list[str]]:
    if not path.is_file():
        raise UserError("there is no such file; check the path.")
    found: dict[str, list[str]] = {}
    for table in read_csv(path, [CLASS, DESCRIPTION]):
        for name, text in zip(table.columns[CLASS], table.columns[DESCRIPTION], strict=True):
            found.setdefault(label_text(name), []).append(text)
    return found
