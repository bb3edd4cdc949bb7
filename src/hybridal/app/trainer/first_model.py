"""The first model of a project: a probe that is prepared in small steps, so that it is published at once.

Features of the texts that people see first are computed while they read. Once the labels are there, fitting and
ranking take a fraction of a second. The chapter's round follows and replaces the queue and the predictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Text
from hybridal.app.labelling.stored_class_sets import Label
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.learner_labels import to_names
from hybridal.app.trainer.snapshot import Descriptions, Snapshot
from hybridal.app.trainer.stored_predictions import ScoredTexts
from hybridal.learners.probe_model import ProbeModel

MAX_RANKED = 256  # texts that the first model ranks; the round that follows ranks all its candidates
MIN_RANKED = 32  # texts that it ranks at least, although preparing them delays the model
TEXTS_PER_STEP = 8  # new labels wait for one step at most
MAX_PAIRS = 64  # pool and validation texts that are served in turn, and prepared in that order


class FirstModel:
    """Prepares the probe of a chapter's learner, and fits it when labels are due.

    Args:
        chapter: The chapter whose texts, encoder and acquisition are used.
        order: Ids of texts in the order in which people see them; their features are computed in this order.
    """

    def __init__(self, chapter: Chapter, order: Sequence[str]) -> None:
        self.chapter, self.order, self.probe = chapter, order, ProbeModel(chapter.learner)
        self._backbone = chapter.learner.backbone
        task, model = chapter.learner.experiment.task, chapter.model
        # The chapter's round measures its signals on the model's sample of the pool.
        sample = [task.train.ids[row] for row in model.sample]
        self._waiting = [*dict.fromkeys([*order, *sample])] if self.probe.max_labels else []
        # The classes and their descriptions when the texts were last ordered.
        self._drawn: tuple[Mapping[int, str], Descriptions] | None = None

    def is_of(self, chapter: Chapter) -> bool:
        """Whether this is the probe of a chapter and of its encoder, which the labels may have changed."""
        return self.chapter is chapter and self._backbone == chapter.learner.backbone

    def serves(self, now: Snapshot) -> bool:
        """Whether there are so few labels that the model is a probe."""
        return len(now.pool) < self.probe.max_labels

    def is_ready(self, labelled: Iterable[str] = ()) -> bool:
        """Whether nothing is left to compute before these labels are learnt."""
        return self.probe.has_description_features and not self._waiting and not self._missing(labelled)

    def prepare(self, labelled: Iterable[str] = ()) -> None:
        """Compute the features of a few texts: labelled ones first, then class descriptions, then the others."""
        missing = self._missing(labelled)
        if not missing and self.probe.compute_description_features(TEXTS_PER_STEP):
            return
        if not missing:
            some, self._waiting = self._waiting[:TEXTS_PER_STEP], self._waiting[TEXTS_PER_STEP:]
            missing = self.probe.missing(some)
        self.probe.compute_features(missing[:TEXTS_PER_STEP])

    def draw(self, classes: Mapping[int, str], descriptions: Descriptions) -> tuple[list[str], list[ScoredTexts]]:
        """Order the texts for labelling before there are labels, so that few of them show what there is.

        The order is computed once the features of all texts in `order` are known, and again when classes or their
        descriptions change; otherwise the result is empty.

        Args:
            classes: Names of the classes, by number.
            descriptions: Their descriptions and examples, by number.

        Returns:
            The ids in their order, and predictions from class names and descriptions alone, if these say something.
        """
        if (classes, descriptions) == self._drawn or not self.probe.max_labels or self.probe.missing(self.order):
            return [], []
        self._drawn = classes, descriptions
        names = [*classes.values()]
        described = {classes[number]: texts for number, texts in descriptions.items() if number in classes}
        drawn = self.probe.first_order(self.order, names, described)
        return drawn, [self._scored([*classes])] if self.probe.fit_descriptions(names, described) else []

    def learn(self, now: Snapshot, n: int) -> tuple[list[str], ScoredTexts]:
        """Fit the probe to the labels of a snapshot.

        Args:
            now: The labels, and the classes, which may have changed since the chapter began.
            n: How many texts to choose.

        Returns:
            The ids to label next, as the project's acquisition chooses them, and the predictions for all texts whose
            features are known.
        """
        self._prepare_enough([*now.pool, *now.validation])
        known = (now.by_people, now.validation, now.model_answers)
        people, validation, model = (_named(labels, now.classes) for labels in known)
        self.probe.fit(people, validation, [*now.classes.values()], now.descriptions_by_name, model)
        return self.probe.query(n), self._scored([*now.classes])

    def _scored(self, classes: Sequence[int]) -> ScoredTexts:
        """Predict all texts whose features are known."""
        ids = self.probe.ids
        return ScoredTexts(ids, self.probe.predict_proba(ids), classes, self.probe.thresholds(ids))

    def _prepare_enough(self, labelled: Sequence[str]) -> None:
        self.probe.compute_features(self._missing(labelled))
        while self._waiting and len(self.probe.ids) < len(labelled) + MIN_RANKED:
            self.prepare()

    def _missing(self, ids: Iterable[str]) -> list[str]:
        """Texts to compute; a text that was added after the chapter began waits for the next chapter."""
        return self.probe.missing(ids) if self.probe.max_labels else []


def _named(labels: Mapping[str, Label], classes: Mapping[int, str]) -> dict[str, Any]:
    return {id: to_names(label, classes) for id, label in labels.items()}


def serving_order(session: Session) -> list[str]:
    """Ids of open texts in the order in which they are served while there is no model."""
    found: list[list[str]] = []
    for split in ("validation", "pool"):
        texts = select(Text.id).where(Text.split == split, Text.open).order_by(Text.random_order)
        found.append([*session.scalars(texts.limit(MAX_RANKED))])
    validation, pool = found
    paired = [id for pair in zip(validation, pool, strict=False) for id in pair]
    return [*dict.fromkeys([*paired[:MAX_PAIRS], *pool])]
