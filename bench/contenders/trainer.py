"""A loop around the `Trainer` of transformers, with the settings of its text classification guide.

Batches are padded to their longest text; each epoch is validated and saved, and the best one restored at the end.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from datasets import Dataset
from datasets.utils.logging import disable_progress_bar
from scipy.special import log_softmax
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.utils import logging

from bench.contenders import Turn, play
from bench.job import Job
from hybridal.system.stopwatch import Stopwatch


class TrainerLoop:
    """Tokenises all texts, then hands the labelled ones to a fresh `Trainer` each round."""

    def __init__(self, job: Job) -> None:
        disable_progress_bar()
        logging.disable_progress_bar()
        logging.set_verbosity_error()
        self.job = job
        self.tokenizer = AutoTokenizer.from_pretrained(job.backbone)
        train = self._dataset(job.texts.train, job.texts.train_labels)
        self.labelled = train.select(range(job.rules.labelled))
        self.candidates = train.select(range(job.rules.labelled, len(train)))
        self.validation = self._dataset(job.texts.validation, job.texts.validation_labels)

    def round(self) -> Turn:
        watch = Stopwatch()
        with tempfile.TemporaryDirectory() as folder:
            trainer = self._trainer(folder, watch)
            trainer.train()
            with watch("score"):
                logits = trainer.predict(self.candidates).predictions
        with watch("select"):
            logs = log_softmax(logits, axis=1)
            entropies = -(np.exp(logs) * logs).sum(axis=1)
            chosen = np.argsort(-entropies)[: self.job.rules.choose] + self.job.rules.labelled
        return Turn(watch.seconds, len(self.candidates), trainer.state.global_step, chosen.tolist())

    def _dataset(self, texts: list[str], labels: list[int]) -> Dataset:
        def tokenise(rows: dict[str, Any]) -> Any:
            return self.tokenizer(rows["text"], truncation=True, max_length=self.job.rules.length)

        return Dataset.from_dict({"text": texts, "label": labels}).map(tokenise, batched=True)

    def _trainer(self, folder: str, watch: Stopwatch) -> Trainer:
        rules = self.job.rules
        arguments = TrainingArguments(
            output_dir=folder,
            learning_rate=rules.learning_rate,
            per_device_train_batch_size=rules.batch,
            per_device_eval_batch_size=rules.batch,
            num_train_epochs=rules.epochs,
            weight_decay=0.01,
            eval_strategy="epoch",
            save_strategy="epoch",
            load_best_model_at_end=True,
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
        )
        classes = len(self.job.texts.classes)
        return TimedTrainer(
            watch,
            model=AutoModelForSequenceClassification.from_pretrained(self.job.backbone, num_labels=classes),
            args=arguments,
            train_dataset=self.labelled,
            eval_dataset=self.validation,
            processing_class=self.tokenizer,
            data_collator=DataCollatorWithPadding(tokenizer=self.tokenizer),
            compute_metrics=accuracy,
            callbacks=[TimedEpochs(watch)],
        )


def accuracy(predicted: Any) -> dict[str, float]:
    logits, labels = predicted
    return {"accuracy": float((logits.argmax(axis=1) == labels).mean())}


class TimedTrainer(Trainer):
    """Takes the time of each pass over validation."""

    def __init__(self, watch: Stopwatch, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.watch = watch

    def evaluate(self, *arguments: Any, **named: Any) -> Any:
        with self.watch("validate"):
            return super().evaluate(*arguments, **named)


class TimedEpochs(TrainerCallback):
    """Takes the time of each epoch's steps."""

    def __init__(self, watch: Stopwatch) -> None:
        self.watch = watch

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        self.epoch = self.watch("train")
        self.epoch.__enter__()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        self.epoch.__exit__(None, None, None)


if __name__ == "__main__":
    play(TrainerLoop)
