"""Transfer what one learner has learnt to another whose task has other texts or classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.core.pool import Pool
from hybridal.learners.active_learner import ActiveLearner
from hybridal.loop.loop import State
from hybridal.tasks.task import Task
from hybridal.updates import Weights


def transfer_learner(before: ActiveLearner, learner: ActiveLearner, classes: Mapping[str, str]) -> None:
    """Continue a learner's rounds in a new learner of the same encoder.

    The new learner gets the rounds, the weights and the labels, and keeps the rows of the head that belong to shared
    classes. Labels of texts and classes that it does not have count as withdrawn. Snapshots of signals are dropped,
    because they describe other texts or classes.

    Args:
        before: The learner to continue; if it has learnt nothing, nothing is transferred.
        learner: The new learner. Texts are matched by id.
        classes: The shared classes: names in the new task to names in the old one.

    >>> from hybridal.testing.small import toy_task
    >>> options = {"backbone": "tiny", "protocol": "quick", "schedule": "retrain", "device": "cpu"}
    >>> first = ActiveLearner(toy_task(), **options)
    >>> result = first.teach(first.query(4), ["food", "sport", "food", "sport"])
    >>> second = ActiveLearner(replace(toy_task(), classes=("food", "sport", "space")), **options)
    >>> transfer_learner(first, second, {"food": "food", "sport": "sport"})
    >>> len(second.history), second.labels == first.labels
    (1, True)
    """
    old, old_task, new_task = before.state, before.experiment.task, learner.experiment.task
    if old.weights is None:
        return
    learner.experiment.use_encoder(old.encoder)
    new_classes = {old_task.class_index(was): new_task.class_index(now) for now, was in classes.items()}
    new_labels = _new_labels(old_task, new_task, new_classes)
    new_rows = {id: row for row, id in enumerate(new_task.train.ids)}
    rows = {row: new_rows[id] for row, id in enumerate(old_task.train.ids) if id in new_rows}
    learnt = old.pool.older_rows().tolist()
    known = _moved(old.pool.labels, learnt, rows, new_labels)
    pool = Pool.unlabelled(len(new_task.train), new_task.label_sets).reveal(known).learnt()
    pool = replace(_with_model_answers(pool, old.pool, rows, new_labels), withdrawn=len(learnt) - len(known))
    weights = _with_head_rows(learner, old.weights, {now: was for was, now in new_classes.items()})
    state = State(old.round, old.update_sequence, pool, weights, temperature=old.temperature, trained=old.trained)
    thresholds = _new_thresholds(old, new_task, new_classes)
    learner.continue_from(replace(state, thresholds=thresholds, encoder=old.encoder), before.history)


def _moved(labels: Ints, some: Sequence[int], rows: Mapping[int, int], new: Mapping[int, int]) -> dict[int, int]:
    """Return the new labels of some rows, by their new rows."""
    return {rows[row]: new[int(labels[row])] for row in some if row in rows and int(labels[row]) in new}


def _with_model_answers(pool: Pool, old: Pool, rows: Mapping[int, int], new: Mapping[int, int]) -> Pool:
    """Return the pool with what a model answered, and which of its labels rest on that."""
    if not len(old.model_labels):
        return pool
    answers = np.full_like(pool.labels, UNKNOWN)
    moved = _moved(old.model_labels, range(len(old.labels)), rows, new)
    answers[[*moved]] = [*moved.values()]
    guessed = [rows[row] for row in old.by_model.tolist() if row in rows]
    return replace(pool, model_labels=answers, by_model=np.intersect1d(pool.order, np.array(guessed, dtype=np.int64)))


def _new_labels(old: Task, new: Task, classes: Mapping[int, int]) -> Mapping[int, int]:
    """Return the new number of each label; of several classes, those that the new task lacks are left out.

    In whole sets, classes that the old task lacks are absent; in partial ones they are unknown.
    """
    if old.label_sets is None or new.label_sets is None:
        return classes
    sets = new.label_sets
    found = {}
    for number, (present, absent) in enumerate(old.label_sets.sets):
        has = [classes[one] for one in present if one in classes]
        lacks = None if absent is None else [classes[one] for one in absent if one in classes]
        if has or lacks is None or lacks:
            found[number] = sets.number(has, lacks)
    return found


def _new_thresholds(old: State, new: Task, classes: Mapping[int, int]) -> tuple[float, ...]:
    """Return the thresholds of the new classes; until a class is learnt, it is given to no text."""
    known = {now: old.thresholds[was] for was, now in classes.items()} if old.thresholds else {}
    return tuple(known.get(number, 1.0) for number in range(len(new.classes))) if known else ()


def _with_head_rows(learner: ActiveLearner, weights: Weights, old_rows: Mapping[int, int]) -> Weights:
    """Return the weights with a head for the learner's classes; rows without an old one are those of the new head."""
    model = learner.transformer
    names = model.classifier.with_head({}, model.classifier.head())
    head = {name: model.pretrained[name].clone() for name in names}
    for new, old in old_rows.items():
        for name, values in head.items():
            values[new] = weights[name][old]
    return {**weights, **head}
