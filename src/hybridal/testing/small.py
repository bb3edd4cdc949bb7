"""A small task and file for tests, also for those of other packages."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.randomness import stream
from hybridal.tasks import Split, Task

_WORDS = {
    "sport": ["ball", "goal", "team", "match", "score", "player", "league", "coach", "race", "win"],
    "food": ["bread", "soup", "salt", "butter", "cook", "oven", "taste", "sweet", "dish", "plate"],
    "space": ["star", "moon", "orbit", "rocket", "comet", "planet", "light", "galaxy", "probe", "launch"],
}
_COMMON = ["the", "a", "of", "in", "and", "to", "is", "on", "with", "for", "it", "was", "at", "by", "this", "that"]


def toy_task(train: int = 120, validation: int = 40, test: int = 30, classes: int = 2, seed: int = 0) -> Task:
    """Create a task of random texts whose words tell their class, so that it is easy to learn.

    >>> task = toy_task()
    >>> task.classes, len(task.train), task.answers(task.train.ids[:1])
    (('sport', 'food'), 120, {'train-0': 'sport'})
    """
    names = tuple(_WORDS)[:classes]
    rng = stream(seed, "toy")

    def split(name: str, size: int) -> Split:
        labels = rng.permutation(np.arange(size) % classes)
        texts = [_text(names[label], rng) for label in labels]
        return Split([f"{name}-{row}" for row in range(size)], texts, labels)

    return Task("toy", names, split("train", train), split("validation", validation), split("test", test))


def multi_label_task(train: int = 120, validation: int = 30, test: int = 60, seed: int = 7) -> Task:
    """A task of three classes, of which each text has none to three: its topics are what its words are about.

    >>> task = multi_label_task()
    >>> len(task.train), sorted(task.answer(task.train.labels[0])), task.multi_label
    (120, [], True)
    """
    rng, sets = stream(seed, "multi-label"), LabelSets(3)
    names = tuple([*_WORDS][:3])

    def split(name: str, size: int) -> Split:
        present = rng.random((size, 3)) < 0.4
        labels = np.array([sets.number(np.flatnonzero(row).tolist()) for row in present], dtype=np.int64)
        topics = [[topic for topic, there in zip(names, row, strict=True) if there] for row in present]
        texts = [
            " ".join([*rng.choice(_COMMON, 6), *(rng.choice(_WORDS[topic]) for topic in own * 3)]) for own in topics
        ]
        return Split([f"{name}-{row}" for row in range(size)], texts, labels)

    parts = split("train", train), split("validation", validation), split("test", test)
    return Task("topics", names, *parts, label_sets=sets)


def toy_file(folder: Path, rows: int = 90) -> Path:
    """Write the toy task's texts to a CSV file with the columns `body` and `kind`.

    >>> import tempfile
    >>> toy_file(Path(tempfile.mkdtemp())).read_text().splitlines()[0]
    'body,kind'
    """
    task, path = toy_task(train=rows), folder / "toy.csv"
    with path.open("w", newline="") as file:
        answers = task.answers(task.train.ids).values()
        csv.writer(file).writerows([("body", "kind"), *zip(task.train.texts, answers, strict=True)])
    return path


def _text(topic: str, rng: np.random.Generator) -> str:
    length = int(rng.integers(4, 14))
    words = [*rng.choice(_COMMON, length), *rng.choice(_WORDS[topic], max(1, length // 3))]
    return " ".join(rng.permutation(words))
