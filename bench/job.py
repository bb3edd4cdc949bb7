"""A job: the same texts, weights and rules for every contender. Needs the standard library only."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Texts:
    """A task, its texts in the order of their use: the first ones of train are labelled, the others candidates."""

    name: str
    classes: list[str]
    train: list[str]
    train_labels: list[int]
    validation: list[str]
    validation_labels: list[int]


@dataclass(frozen=True)
class Rules:
    """A round: `epochs` over the `labelled` texts with a pass over validation after each, all `candidates` scored and
    `choose` of them chosen. Labels and candidates are as many as in the protocol `quick`.
    """

    labelled: int = 48
    candidates: int = 192
    validation: int = 48
    epochs: int = 3
    choose: int = 32
    batch: int = 16
    length: int = 128
    learning_rate: float = 2e-5

    @property
    def steps(self) -> int:
        """The optimiser steps that everybody must take.

        >>> Rules(labelled=40, batch=16, epochs=2).steps
        6
        """
        return self.epochs * -(-self.labelled // self.batch)


@dataclass(frozen=True)
class Job:
    """One round of one task with the weights in the folder `backbone`."""

    texts: Texts
    backbone: str
    rules: Rules

    @property
    def labels(self) -> list[int]:
        return self.texts.train_labels[: self.rules.labelled]

    def small(self) -> Job:
        """A job that takes a moment: it loads what is loaded late, so that the real one is measured warm."""
        labelled, candidates, validation = 16, 48, 16
        rules = replace(self.rules, labelled=labelled, candidates=candidates, validation=validation, epochs=1, choose=8)
        texts = replace(
            self.texts,
            train=self.texts.train[: labelled + candidates],
            train_labels=self.texts.train_labels[: labelled + candidates],
            validation=self.texts.validation[:validation],
            validation_labels=self.texts.validation_labels[:validation],
        )
        return Job(texts, self.backbone, rules)


def dump_jobs(jobs: list[Job]) -> str:
    """Jobs as text, for a contender's process."""
    return json.dumps([asdict(job) for job in jobs])


def load_jobs(text: str) -> list[Job]:
    """The jobs that `dump_jobs` wrote."""
    return [Job(Texts(**job["texts"]), job["backbone"], Rules(**job["rules"])) for job in json.loads(text)]
