"""The texts that shares are estimated of: a model's predictions, and the labels of people with how they were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from hybridal.core.outputs import UNKNOWN, Floats, Ints
from hybridal.core.pool import Pool
from hybridal.core.provenance import RandomDraw
from hybridal.core.rounds import Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.initial import partly_labelled
from hybridal.measures.shares.groups import By, Groups, group_by
from hybridal.measures.shares.labelled_texts import LabelledTexts
from hybridal.measures.shares.share_table import Basis, Progress, ShareTable, no_progress, share_table
from hybridal.randomness import stream
from hybridal.reports.number_formats import counted
from hybridal.tasks.task import Split, Task

FOLDS = 5  # of the random labels that the model has learnt


class Predictor(Protocol):
    """Predicts all texts of a task with the model after the last round, and without some of its labels."""

    @property
    def seed(self) -> int:
        """The seed of the folds."""

    @property
    def rules(self) -> Rules:
        """The protocol's settings."""

    def logits(self, splits: Sequence[Split], progress: Progress) -> Floats:
        """The logits of the texts of the pool and, if it is given, of the validation split."""

    def logits_without(self, rows: Ints, splits: Sequence[Split]) -> Floats:
        """Those of a model that has not learnt the labels of these rows."""


@dataclass(frozen=True, eq=False)
class EstimatedTexts:
    """The texts that estimates are about: ids, labels, predictions, and what the estimates rest on."""

    ids: Sequence[str]
    texts: LabelledTexts
    basis: Basis
    task: Task

    def shares(
        self,
        values: Mapping[str, Any] | None,
        by: By | None,
        classes: Sequence[str] | None,
        confidence: float,
        progress: Progress = no_progress,
    ) -> ShareTable:
        """Estimate; `values` are those of the column by id."""
        groups = None if by is None else self._groups(values or {}, by)
        names, several = self.task.classes, self.task.multi_label
        return share_table(self.texts, names, self.basis, groups, classes, confidence, several, progress)

    def _groups(self, values: Mapping[str, Any], by: By) -> Groups:
        if not any(id in values for id in self.ids):
            example = next(iter(values), "")
            raise UserError(
                f"No id of the column '{by.column:.40}' is that of a text: it has ids such as '{example:.40}', and the "
                f"texts such as '{self.ids[0]:.40}'. Name the column with the ids with `id`.",
                field="id",
            )
        return group_by([values.get(id) for id in self.ids], by)


def described(model: str, last: Round) -> str:
    """Describe a model in words.

    >>> from hybridal.testing import fake_history
    >>> described("encoder minilm", fake_history((), seed=1, rounds=2)[-1])
    'encoder minilm, 264 labels learnt in 2 rounds'
    """
    labels, rounds = counted(last.labels, "label"), counted(last.round, "round")
    return f"{model}, {labels} learnt in {rounds}"


def estimated_texts(
    predictor: Predictor,
    task: Task,
    pool: Pool,
    temperature: float | None,
    thresholds: Sequence[float],
    described: str,
    validation_labels: Ints | None = None,
    progress: Progress = no_progress,
) -> EstimatedTexts:
    """Predict all texts, and collect the labels of people with how they were drawn.

    Args:
        predictor: Predicts with the model after the last round.
        task: Its task.
        pool: The labels after the last round.
        temperature: The model's.
        thresholds: With several labels per text, from which probability each class is given.
        described: The model in words.
        validation_labels: Labels of the task's own validation texts, if they are no part of the pool.
        progress: Receives how many texts are predicted.
    """
    people, objective = pool.by_people(), task.objective
    labels = [people.labels]
    splits = [task.train]
    fixed = predictor.rules.validation == "fixed" and len(task.validation) > 0
    if fixed:
        splits.append(task.validation)
        labels.append(task.validation.labels if validation_labels is None else validation_labels)
    known = np.concatenate(labels)
    used = np.flatnonzero(known > UNKNOWN - 1)  # texts that are left out of the pool are left out here
    targets = np.full((len(known), len(task.classes)), np.nan)
    targets[known >= 0] = objective.targets(known[known >= 0])
    draws = [_padded(draw, len(known)) for draw in people.random_draws()]
    if fixed and _validation_is_random(task):
        draws = [_validation_draw(task, labels[1], people, len(known)), *draws]
    logits = [predictor.logits(splits, progress)]
    crossed, fold = _learnt_random(people, draws), np.zeros(len(known), dtype=np.int64)
    if len(crossed):
        folds = np.arange(len(crossed)) % min(FOLDS, len(crossed))
        fold[crossed] = 1 + stream(predictor.seed, "estimate").permutation(folds)
        parts = [crossed[fold[crossed] == 1 + number] for number in range(folds.max() + 1)]
        logits += [predictor.logits_without(part, splits) for part in parts]
    scales = [temperature or 1.0, *[1.0] * (len(logits) - 1)]
    pairs = zip(logits, scales, strict=True)
    predicted = np.stack([objective.probabilities(each, scale) for each, scale in pairs])
    answers = predicted[0] >= np.array(thresholds) if task.multi_label else _most_probable(predicted[0])
    texts = _selected(LabelledTexts(targets, answers, predicted, draws, fold), used)
    drawn = len(texts.random_rows)
    basis = Basis(
        len(used),
        drawn,
        len(texts.draws),
        others=int((~np.isnan(texts.targets)).any(axis=1).sum()) - drawn,
        crossed=len(crossed),
        model=described,
    )
    ids = [id for split in splits for id in split.ids]
    return EstimatedTexts([ids[row] for row in used.tolist()], texts, basis, task)


def _padded(draw: RandomDraw, size: int) -> RandomDraw:
    """The same draw among more texts, of which it could draw none because they are for validation."""
    frame = np.zeros(size, dtype=bool)
    frame[: len(draw.frame)] = draw.frame
    return replace(draw, frame=frame)


def _validation_is_random(task: Task) -> bool:
    """Whether validation texts stand for all others: not if they were drawn from the labelled ones of a file."""
    return not (partly_labelled(task) and (task.validation.labels != UNKNOWN).all())


def _validation_draw(task: Task, labels: Ints, people: Pool, size: int) -> RandomDraw:
    """The validation texts of the task, as a draw from all texts that had no label before."""
    frame = np.ones(size, dtype=bool)
    if partly_labelled(task):
        frame[: len(task.train)] = task.train.labels == UNKNOWN
    frame[: len(task.train)] &= people.labels > UNKNOWN - 1
    drawn = len(task.train) + np.flatnonzero(labels >= 0)
    return RandomDraw(frame, drawn)


def _learnt_random(people: Pool, draws: Sequence[RandomDraw]) -> Ints:
    """The rows of random labels that the model has learnt."""
    rows = np.concatenate([np.empty(0, dtype=np.int64), *(draw.drawn for draw in draws)])
    found: Ints = rows[np.isin(rows, people.order)]
    return found


def _most_probable(probabilities: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    answers = np.zeros(probabilities.shape, dtype=bool)
    answers[np.arange(len(answers)), probabilities.argmax(axis=1)] = True
    return answers


def _selected(texts: LabelledTexts, rows: Ints) -> LabelledTexts:
    """Some of the texts."""
    place = np.full(len(texts), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    draws = [
        RandomDraw(draw.frame[rows], place[draw.drawn][place[draw.drawn] >= 0], draw.covered[rows])
        for draw in texts.draws
    ]
    return LabelledTexts(texts.targets[rows], texts.answers[rows], texts.predicted[:, rows], draws, texts.fold[rows])
