"""What a learner predicts after each number of labels, for `bench.peers`.

Each learner is a function in an environment of its own. It gets a `Question`, labels texts of its pool until it has
the numbers of labels that are asked for, and yields its probabilities for the test texts after each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        device: Where encoders compute, as in `torch.device`.
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
    device: str = "cpu"


def dump(questions: Sequence[Question]) -> str:
    return json.dumps([asdict(question) for question in questions])


Curve = Iterator[Any]
"""The probabilities of the test texts, a row per text, after each number of labels."""


def play(learners: Mapping[str, Callable[[Question], Curve]]) -> None:
    """`python -m bench.contenders.NAME QUESTIONS ANSWER`: a curve for each question, one after the other."""
    asked = [Question(**one) for one in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))]
    curves = [measured(learners[question.learner], question) for question in asked]
    answer = {"curves": curves, "megabytes": peak_megabytes()}
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


def measured(learner: Callable[[Question], Curve], asked: Question) -> list[dict[str, Any]]:
    """Probabilities after each number of labels, with seconds of the processor, and of the clock (`wall`)."""
    found, began, started = [], time.process_time(), time.perf_counter()
    for count, probabilities in zip(asked.counts, learner(asked), strict=True):
        rows = [[round(float(value), 6) for value in row] for row in probabilities]
        spent = {"seconds": time.process_time() - began, "wall": time.perf_counter() - started}
        found.append({"labels": count, **spent, "probabilities": rows})
    return found
