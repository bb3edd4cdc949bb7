"""small-text's pool-based learner with its transformer classifier, in an environment of its own.

Its data sets pad every text to the length limit; each epoch is validated and saved, and the best one restored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from small_text import (
    PoolBasedActiveLearner,
    PredictionEntropy,
    TransformerBasedClassification,
    TransformerModelArguments,
    TransformersDataset,
)
from transformers import AutoTokenizer

from bench.contenders import Turn, play
from bench.job import Job
from hybridal.system.stopwatch import Stopwatch


class SmallText:
    """A learner over the job's texts, validated on texts outside its pool."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.tokenizer = AutoTokenizer.from_pretrained(job.backbone)
        self.pool = self._dataset(job.texts.train, job.texts.train_labels)
        self.validation = self._dataset(job.texts.validation, job.texts.validation_labels)

    def round(self) -> Turn:
        watch, rules = Stopwatch(), self.job.rules
        fixed = {"validation_set": self.validation, "early_stopping": "none"}
        learner = PoolBasedActiveLearner(TimedFactory(self.job, watch), PredictionEntropy(), self.pool, fixed)
        learner.initialize_data(np.arange(rules.labelled), np.array(self.job.labels))
        with watch("query"):
            chosen = learner.query(num_samples=rules.choose)
        seconds = {**watch.seconds, "select": watch.seconds["query"] - watch.seconds["score"]}
        classifier = learner.classifier
        return Turn(seconds, classifier.scored, classifier.steps, chosen.tolist())

    def _dataset(self, texts: list[str], labels: list[int]) -> TransformersDataset:
        classes = np.arange(len(self.job.texts.classes))
        length = self.job.rules.length
        return TransformersDataset.from_arrays(texts, np.array(labels), self.tokenizer, classes, max_length=length)


class TimedFactory:
    """What the learner asks for a fresh classifier: as small-text's own factory, but timed."""

    def __init__(self, job: Job, watch: Stopwatch) -> None:
        self.job, self.watch = job, watch

    def new(self) -> TimedClassification:
        rules = self.job.rules
        return TimedClassification(
            self.watch,
            TransformerModelArguments(self.job.backbone),
            len(self.job.texts.classes),
            num_epochs=rules.epochs,
            lr=rules.learning_rate,
            mini_batch_size=rules.batch,
            device="cpu",
        )


class TimedClassification(TransformerBasedClassification):
    """Takes the time of what a round consists of, and counts it."""

    def __init__(self, watch: Stopwatch, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.watch = watch
        self.steps = self.scored = 0

    def _train_single_batch(self, *arguments: Any) -> Any:
        self.steps += 1
        with self.watch("train"):
            return super()._train_single_batch(*arguments)

    def validate(self, validation_set: Any) -> Any:
        with self.watch("validate"):
            return super().validate(validation_set)

    def predict_proba(self, dataset: Any, dropout_sampling: int = 1) -> Any:
        self.scored += len(dataset)
        with self.watch("score"):
            return super().predict_proba(dataset, dropout_sampling)


if __name__ == "__main__":
    play(SmallText)
