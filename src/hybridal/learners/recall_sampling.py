"""Draw the random sample of a recall certificate from the texts of a learner or a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import LEFT_OUT, Pool
from hybridal.errors import UserError
from hybridal.learners.text_classifier import TextClassifier
from hybridal.measures.recall_sample import RecallSample
from hybridal.registry import hint_or_list
from hybridal.tasks.label_values import label_text
from hybridal.tasks.task import Task


def recall_sample(task: Task, pool: Pool, model: TextClassifier, wanted: Any, seed: int = 0) -> RecallSample:
    """Draw from the texts that people have not labelled and to which the model does not give a class.

    Args:
        task: The texts, with the labels of its validation texts.
        pool: The labels of its training texts.
        model: The classifier.
        wanted: The class.
        seed: Of the random order.

    Returns:
        The sample, with ids as the task has them.

    Raises:
        UserError: If there is no such class.
    """
    name = label_text(wanted)
    if name not in task.classes:
        raise UserError(f"There is no class '{name}'; {hint_or_list(name, task.classes)}", field="class")
    number, people = task.classes.index(name), pool.by_people().labels
    split = task.train.joined(task.validation)
    labels = np.concatenate([people, task.validation.labels])
    targets = np.full(len(labels), np.nan)
    targets[labels >= 0] = task.objective.targets(labels[labels >= 0])[:, number]
    unknown = np.flatnonzero(np.isnan(targets) & (labels != LEFT_OUT) & (labels >= UNKNOWN))
    probabilities = model.predict_proba([split.texts[row] for row in unknown.tolist()])
    if model.thresholds:
        gives = probabilities[:, number] >= model.thresholds[number]
    else:
        gives = probabilities.argmax(axis=1) == number
    ids = [split.ids[row] for row in unknown[~gives].tolist()]
    return RecallSample.draw(name, ids, int((targets == 1).sum()), int(gives.sum()), seed)
