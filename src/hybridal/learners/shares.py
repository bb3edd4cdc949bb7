"""Shares and trends that may be published, of the texts of a learner or a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN, Floats, Ints
from hybridal.core.pool import Pool
from hybridal.core.provenance import RandomDraw
from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.loop.initial import partly_labelled
from hybridal.measures.shares.groups import By, Groups, group_by
from hybridal.measures.shares.labelled_texts import LabelledTexts
from hybridal.measures.shares.share_methods import methods
from hybridal.measures.shares.share_sentences import gain_sentence, plan_sentence, sentence
from hybridal.measures.shares.share_table import Basis, Progress, ShareTable, no_progress, share_table
from hybridal.models.training import forward_passes
from hybridal.randomness import stream
from hybridal.reports.number_formats import counted
from hybridal.runs.assemble import build_experiment, build_loop_model
from hybridal.runs.checks import preload_torch
from hybridal.runs.record import RunFolder
from hybridal.runs.run import on_device, restore, with_kept_validation
from hybridal.tasks.task import Split, Task

if TYPE_CHECKING:
    from pandas import DataFrame

    from hybridal.models.transformer import TransformerModel

FOLDS = 5  # of the random labels that the model has learnt


@dataclass(frozen=True)
class Shares:
    """Estimated shares of classes, with intervals that hold whatever the model's errors are.

    Attributes:
        table: All estimates, as data.

    Example:
        >>> from hybridal import ActiveLearner
        >>> from hybridal.testing.small import toy_task
        >>> task = toy_task()
        >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
        >>> result = learner.teach(task.answers(task.train.ids[:40]))
        >>> shares = learner.estimate()
        >>> shares.table.basis.labels, [line.name for line in shares.table.of("share")]
        (40, ['sport', 'food'])
    """

    table: ShareTable

    @property
    def sentences(self) -> list[str]:
        """Each estimate in a sentence, with its confidence.

        Example:
            >>> from hybridal.measures.shares.share_table import Basis, Interval, Line
            >>> found = Interval(0.3, 0.25, 0.35)
            >>> line = Line("share", "", "", "late", 900, 90, 0.2, found, found)
            >>> Shares(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1))).sentences
            ['late: 30.0% of the texts, 25.0% to 35.0% with 95% confidence; the model alone counts 20.0%.']
        """
        return list(dict.fromkeys(sentence(line, self.table) for line in self.table.lines))

    @property
    def gain(self) -> str:
        """How much narrower the model's predictions make the intervals."""
        return gain_sentence(self.table)

    @property
    def methods(self) -> str:
        """A paragraph for the methods section of a publication."""
        return methods(self.table)

    def plan(self, half_width: float) -> str:
        """Say how many more random labels it takes until all intervals are this narrow.

        Args:
            half_width: Half of the width of an interval, such as 0.02 for ±2 points.

        Returns:
            A sentence; `table.more_labels(half_width)` is the number.

        Raises:
            UserError: If it is no share.

        Example:
            >>> from hybridal.measures.shares.planning import Precision
            >>> table = ShareTable((), ("late",), 0.95, Basis(9000, 90, 1), precision=(Precision(0.08, 90, 9000),))
            >>> Shares(table).plan(0.05)
            'For ±5 points with 95% confidence you need about 137 more random labels.'
        """
        return plan_sentence(self.table, half_width)

    def to_pandas(self) -> DataFrame:
        """Return the estimates as a DataFrame, a row each.

        Returns:
            Columns `kind`, `group`, `other`, `class`, `texts`, `labels`, `count`, and for `alone` (random labels alone)
            and `estimate` the value and the ends of the interval.

        Example:
            >>> from hybridal.measures.shares.share_table import Interval, Line
            >>> line = Line("share", "", "", "late", 900, 90, 0.2, None, Interval(0.3, 0.25, 0.35))
            >>> Shares(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1))).to_pandas()["high"].tolist()
            [0.35]
        """
        import pandas as pd

        rows = []
        for line in self.table.lines:
            row: dict[str, Any] = {"kind": line.kind, "group": line.group, "other": line.other, "class": line.name}
            row |= {"texts": line.texts, "labels": line.labels, "count": line.count}
            for prefix, found in (("alone_", line.alone), ("", line.estimate)):
                for end in ("value", "low", "high"):
                    name = "estimate" if end == "value" and not prefix else f"{prefix}{end}"
                    row[name] = None if found is None else getattr(found, end)
            rows.append(row)
        return pd.DataFrame(rows)

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables, figures and the methods paragraph.

        Args:
            folder: The folder; it is created.

        Returns:
            The files: `shares.csv`, `shares.md`, `shares.json`, `shares.svg`, `shares.png` and `shares.pdf`.

        Example:
            >>> import tempfile
            >>> from hybridal.measures.shares.share_table import Interval, Line
            >>> line = Line("share", "", "", "late", 900, 90, 0.2, None, Interval(0.3, 0.25, 0.35))
            >>> shares = Shares(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1)))
            >>> [path.suffix for path in shares.write(tempfile.mkdtemp())]
            ['.csv', '.md', '.json', '.svg', '.png', '.pdf']
        """
        from hybridal.reports.share_report import write_shares

        return write_shares(self.table, Path(folder))


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


def texts_of_run(
    folder: RunFolder, device: str | None = None, progress: Callable[[int, int], None] = no_progress
) -> EstimatedTexts:
    """Predict the texts of a run folder by the model after its last round; see `estimated_texts`.

    Raises:
        UserError: If it has no round yet or no checkpoint, or is a comparison.
    """
    if "schedules" in folder.about():
        raise UserError(
            f"{folder.path} is a comparison, which keeps no model; run one of its schedules: `hybridal run`."
        )
    if "key" in folder.about():
        from hybridal.learners.active_learner import ActiveLearner

        return ActiveLearner.load(folder.path, device=device, observer=Observer()).estimated_texts(progress)
    preload_torch()
    settings, task = on_device(folder.settings(), device), folder.task()
    validation = with_kept_validation(task, folder).validation.labels
    state, history = restore(folder)
    if state is None or state.weights is None or not history:
        raise UserError(f"{folder.path} has no model yet; go on with `hybridal resume {folder.path}`.")
    loop_model = build_loop_model(settings, task, (), Observer(), folder.backbone)
    experiment = build_experiment(settings, task, loop_model, ())
    experiment.load(replace(state, weights=loop_model.to_device(state.weights)))
    last, model = history[state.round - 1], loop_model.current
    words = described(settings.backbone if state.encoder is None else state.encoder.backbone, last)
    return estimated_texts(model, task, state.pool, last.temperature, state.thresholds, words, validation, progress)


def described(backbone: str, last: Round) -> str:
    """Describe a model in words.

    >>> from hybridal.testing import fake_history
    >>> described("minilm", fake_history((), seed=1, rounds=2)[-1])
    'encoder minilm, 264 labels learnt in 2 rounds'
    """
    labels, rounds = counted(last.labels, "label"), counted(last.round, "round")
    return f"encoder {backbone}, {labels} learnt in {rounds}"


def estimated_texts(
    model: TransformerModel,
    task: Task,
    pool: Pool,
    temperature: float | None,
    thresholds: Sequence[float],
    described: str,
    validation_labels: Ints | None = None,
    progress: Callable[[int, int], None] = no_progress,
) -> EstimatedTexts:
    """Predict all texts, and collect the labels of people with how they were drawn.

    Args:
        model: The model after the last round.
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
    fixed = model.rules.validation == "fixed" and len(task.validation) > 0
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
    logits = [_logits(model, pool, splits, progress)]
    crossed, fold = _learnt_random(people, draws), np.zeros(len(known), dtype=np.int64)
    if len(crossed):
        folds = np.arange(len(crossed)) % min(FOLDS, len(crossed))
        fold[crossed] = 1 + stream(model.seed, "estimate").permutation(folds)
        logits += [_without(model, pool, crossed[fold[crossed] == 1 + one], splits) for one in range(folds.max() + 1)]
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


def _logits(
    model: TransformerModel, pool: Pool, splits: Sequence[Split], progress: Callable[[int, int], None]
) -> Floats:
    total = sum(map(len, splits))

    def report(done: int, _of: int) -> None:
        progress(done, total)

    found = [model.predict(np.arange(len(splits[0])), pool, progress=report).logits]
    if len(splits) > 1:
        rows, before = np.arange(len(splits[1])), len(splits[0])
        source, shift = model.validation.source, lambda done, _of: progress(before + done, total)
        found.append(forward_passes.predict(model.classifier, source, rows, progress=shift).logits)
    return np.concatenate(found)


def _without(model: TransformerModel, pool: Pool, rows: Ints, splits: Sequence[Split]) -> Floats:
    """The logits of a probe that has not learnt the labels of these rows."""
    probe = model.probe(pool.withdraw(rows))
    features = [model.features.of(np.arange(len(splits[0])))]
    if len(splits) > 1:
        with model.classifier.using_weights(model.pretrained):
            features.append(model.text_features(splits[1].texts))
    return probe.logits(np.concatenate(features))


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
