"""A learner goes on with what another has learnt, where texts or classes have come or gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hybridal.core.pool import Pool
from hybridal.learners.active_learner import ActiveLearner
from hybridal.loop.loop import State
from hybridal.models.training.probe import Probe
from hybridal.updates import Weights


def transfer_learner(before: ActiveLearner, learner: ActiveLearner, classes: Mapping[str, str]) -> None:
    """Brings a new learner of the same encoder to where another is: its rounds, its weights, what it has learnt.

    Texts are the same by their ids; `classes` says how the other learner calls each class that both have. The rows of
    the head that belong to those are kept. Labels of texts and classes that are gone count as withdrawn, and what the
    signals remember of the last round is forgotten: it was about other texts or classes.

    >>> from hybridal.testing.small import toy_task
    >>> options = {"backbone": "tiny", "protocol": "quick", "schedule": "retrain", "device": "cpu"}
    >>> first = ActiveLearner(toy_task(), **options)
    >>> result = first.teach(first.query(4), ["food", "sport", "food", "sport"])
    >>> second = ActiveLearner(replace(toy_task(), classes=("food", "sport", "space")), **options)
    >>> transfer_learner(first, second, {"food": "food", "sport": "sport"})
    >>> len(second.history), second.labels == first.labels
    (1, True)
    """
    was, theirs, mine = before._state, before.experiment.task, learner.experiment.task
    if was.weights is None:
        return
    number = {theirs.class_index(old): mine.class_index(new) for new, old in classes.items()}
    learnt = [(theirs.train.ids[row], int(was.pool.labels[row])) for row in was.pool.older_rows()]
    known = {learner._rows[id]: number[label] for id, label in learnt if id in learner._rows and label in number}
    pool = replace(Pool.unlabelled(len(mine.train)).reveal(known).learnt(), withdrawn=len(learnt) - len(known))
    weights = _with_rows(learner, was.weights, {new: old for old, new in number.items()})
    learner._learnt = [*before.history]
    learner._state = State(
        was.round, was.update_sequence, pool, weights, temperature=was.temperature, trained=was.trained
    )
    learner.transformer.load(weights)


def _with_rows(learner: ActiveLearner, weights: Weights, kept: Mapping[int, int]) -> Weights:
    """The weights with a head for the learner's classes: the rows that stay, from where they were, and new ones."""
    model = learner.transformer
    weight, bias = model.classifier.with_head({}, Probe(np.zeros((1, 1)), np.zeros(1)))  # the names of its two parts
    parts = {name: model.pretrained[name].clone() for name in (weight, bias)}
    for new, old in kept.items():
        for name, values in parts.items():
            values[new] = weights[name][old]
    return {**weights, **parts}
