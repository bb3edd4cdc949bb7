"""Small things to try the engine on: also for the tests of other packages."""

from __future__ import annotations

import numpy as np

from hybridal.randomness import stream
from hybridal.task import Split, Task

_WORDS = {
    "sport": ["ball", "goal", "team", "match", "score", "player", "league", "coach", "race", "win"],
    "food": ["bread", "soup", "salt", "butter", "cook", "oven", "taste", "sweet", "dish", "plate"],
    "space": ["star", "moon", "orbit", "rocket", "comet", "planet", "light", "galaxy", "probe", "launch"],
}
_COMMON = ["the", "a", "of", "in", "and", "to", "is", "on", "with", "for", "it", "was", "at", "by", "this", "that"]


def toy_task(train: int = 120, validation: int = 40, test: int = 30, classes: int = 2, seed: int = 0) -> Task:
    """Texts of known words: a class is easy to learn, and everything is made here.

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


def _text(topic: str, rng: np.random.Generator) -> str:
    length = int(rng.integers(4, 14))
    words = [*rng.choice(_COMMON, length), *rng.choice(_WORDS[topic], max(1, length // 3))]
    return " ".join(rng.permutation(words))
