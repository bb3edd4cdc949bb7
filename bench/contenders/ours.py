"""This engine, as `hybridal run` uses it: an experiment advanced by one RETRAIN round, with the default signal."""

from __future__ import annotations

import numpy as np

from bench.contenders import Turn, play
from bench.job import Job
from hybridal.core.pool import Pool
from hybridal.loop.loop import State
from hybridal.runs.assemble import build_experiment, build_model
from hybridal.runs.settings import Settings
from hybridal.signals import SIGNALS
from hybridal.tasks import Split, Task
from hybridal.updates import UPDATES


class Ours:
    """An experiment over the job's texts; all that are not labelled are candidates."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.task = as_task(job)
        settings = Settings(
            job.texts.name, protocol="paper", backbone=job.backbone, overrides=overrides(job), device="cpu"
        )
        signals = (SIGNALS.make("accuracy"),)
        self.experiment = build_experiment(settings, self.task, build_model(settings, self.task, signals), signals)

    def round(self) -> Turn:
        pool = Pool.unlabelled(len(self.task.train)).choose(np.arange(self.job.rules.labelled))
        _, record = self.experiment.advance(State(0, "", pool), UPDATES.make("retrain"))
        chosen = [int(id) for id in record.acquired]
        return Turn(record.seconds, self.job.rules.candidates, record.cost.steps, chosen)


def as_task(job: Job) -> Task:
    """The job's texts with their rows as ids."""
    texts = job.texts

    def split(of: list[str], labels: list[int]) -> Split:
        return Split([str(row) for row in range(len(of))], of, np.array(labels, dtype=np.int64))

    validation = split(texts.validation, texts.validation_labels)
    return Task(texts.name, tuple(texts.classes), split(texts.train, texts.train_labels), validation, Split.empty())


def overrides(job: Job) -> dict[str, object]:
    """The job's rules as a protocol: a patience of all epochs validates after each and stops after none."""
    rules = job.rules
    return {
        "initial": rules.labelled,
        "batch": rules.choose,
        "candidates": None,
        "rounds": 2,
        "max_length": rules.length,
        "learning_rate": rules.learning_rate,
        "train_batch": rules.batch,
        "max_epochs": rules.epochs,
        "stop_after": rules.epochs,
    }


if __name__ == "__main__":
    play(Ours)
