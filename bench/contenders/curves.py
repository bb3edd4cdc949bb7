"""What a learner predicts after each number of labels, for `bench.peers`.

Each learner is a function in an environment of its own. It gets a `Question`, labels texts of its pool until it has
the numbers of labels that are asked for, and yields its probabilities for the test texts after each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.contenders import peak_megabytes


@dataclass(frozen=True)
class Question:
    """A task, and how a learner is to be run on it.

    Args:
        learner: Its name.
        classes: Names of the classes.
        pool: Texts that may be labelled.
        labels: Their classes, by number.
        test: Texts to predict.
        counts: Numbers of labels, ascending.
        backbone: Folder of the encoder; for our own learner a name or `auto` too.
        length: Tokens of a text that are read at most.
        pairs: Pairs of texts that SetFit draws for each text and epoch, of either kind.
        seed: Seed of all random choices.
    """

    learner: str
    classes: list[str]
    pool: list[str]
    labels: list[int]
    test: list[str]
    counts: list[int]
    backbone: str
    length: int
    pairs: int
    seed: int

    def dump(self) -> str:
        return json.dumps(asdict(self))


Curve = Iterator[Any]
"""The probabilities of the test texts, a row per text, after each number of labels."""


def play(learners: Mapping[str, Callable[[Question], Curve]]) -> None:
    """`python -m bench.contenders.NAME QUESTION ANSWER`; seconds are those of the processor, not of the clock."""
    asked = Question(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    found, began = [], time.process_time()
    for count, probabilities in zip(asked.counts, learners[asked.learner](asked), strict=True):
        rows = [[round(float(value), 6) for value in row] for row in probabilities]
        found.append({"labels": count, "seconds": time.process_time() - began, "probabilities": rows})
    answer = {"curve": found, "megabytes": peak_megabytes()}
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")
