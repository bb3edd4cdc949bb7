"""The first model, there a moment after its last label: all that does not depend on labels is computed before.

With few labels the model is a probe, a logistic regression on what the pretrained encoder says of the texts. The
features of the texts that people are about to see are computed while they read, and say which of them to label first.
When the labels are there, fitting and ranking take a fraction of a second. The chapter's round, with its signals and
its checkpoint, follows and replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.acquisition.margin import margins
from hybridal.app.db.schema import Text
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.snapshot import Meanings, Snapshot
from hybridal.app.trainer.stored_predictions import Scored
from hybridal.core.outputs import Floats
from hybridal.loop.first_draw import first_draw
from hybridal.measures.calibration import shrunk_temperature, softmax
from hybridal.models.training.class_descriptions import class_centroids
from hybridal.models.training.frozen_features import Features
from hybridal.models.training.probe import Prober
from hybridal.randomness import stream

AHEAD = 256  # so many texts are ranked by the first model; the round that follows ranks all its candidates
ENOUGH = 32  # so many, at least, where there was no time to prepare more
AT_ONCE = 8  # texts between two looks at the labels: nobody waits for more


class FirstModel:
    """Features of texts by id, of those first that people see first, and the probe of any labels of them."""

    def __init__(self, chapter: Chapter, order: Sequence[str]) -> None:
        task, model, rules = chapter.learner.experiment.task, chapter.model, chapter.learner.experiment.rules
        self.chapter, self.seed, self._prober = chapter, model.seed, Prober(model.seed)
        self.probe_until = rules.probe_until if rules.head == "probe" else 0
        # Those of the pool are kept by the model itself: its own probe finds them there.
        self._of = (
            ({id: row for row, id in enumerate(task.train.ids)}, model.features),
            (
                {id: row for row, id in enumerate(task.validation.ids)},
                Features(model.classifier, model.validation.source),
            ),
        )
        self.known: dict[str, Floats] = {}
        self.order = order
        self._drawn: Meanings | None = None  # what was known of the classes when these were last drawn
        # Its round looks at the model's sample of the pool too.
        sample = [task.train.ids[row] for row in model.sample]
        self._waiting = [*dict.fromkeys([*order, *sample])] if self.probe_until else []
        self._said = model.named if self.probe_until else model.named[:0]
        self._read: dict[str, Floats] = {}  # what is said of classes

    def serves(self, now: Snapshot) -> bool:
        """Whether these labels are so few that the model is a probe."""
        return len(now.pool) < self.probe_until

    def is_ready(self, labelled: Iterable[str] = ()) -> bool:
        """Whether nothing is left to compute before these labels are learnt."""
        return not len(self._said) and not self._waiting and not self._missing(labelled)

    def prepare(self, labelled: Iterable[str] = ()) -> None:
        """Computes the features of a few texts more: those with labels first, then what is said of the classes."""
        missing, model = self._missing(labelled), self.chapter.model
        if not missing and len(self._said):
            some, self._said = self._said[:AT_ONCE], self._said[AT_ONCE:]
            texts = [model.description_texts[row - len(model.train_ids)] for row in some]
            self._read |= zip(texts, model.features.of(some), strict=True)
            return
        if not missing:
            missing, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        self._describe(missing[:AT_ONCE])

    def draw(self, meanings: Meanings) -> list[str]:
        """Ids in the order in which to label them before there is a model, so that few of them show what there is.

        Every other one is near to a class, by its name and by what owners wrote down of it. Said once, as soon as the
        texts that people see first are computed, and again when something else is written down; [] before and after.
        """
        if meanings == self._drawn or not self.probe_until or any(id not in self.known for id in self.order):
            return []
        self._drawn = meanings
        rows, _ = self._of[0]
        ids = [id for id in self.order if id in rows]
        if not ids:
            return []
        classes = self._describe_classes(meanings)
        return [ids[at] for at in first_draw(self._features(ids), len(ids), stream(self.seed, "initial"), classes)]

    def _describe_classes(self, meanings: Meanings) -> Floats | None:
        """Where each class lies, by its name and what was written down now; None where nothing is said of one."""
        classes = self.chapter.learner.experiment.task.classes
        name = dict(zip(self.chapter.frame.classes, classes, strict=True))
        written = {name[number]: said for number, said in meanings.items() if number in name}
        texts, of = self.chapter.model.class_descriptions(classes, written)
        return class_centroids(self._embed(texts), of, len(classes)) if texts else None

    def _embed(self, texts: Sequence[str]) -> Floats:
        """What the encoder makes of what is said of classes; it may have been said a moment ago."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._read]
        if missing:
            self._read |= zip(missing, self.chapter.model.embed(missing), strict=True)
        return np.stack([self._read[text] for text in texts])

    def _prepare_enough(self, labelled: Sequence[str]) -> None:
        """Whatever it takes to learn these labels, and to have something to choose from."""
        self._describe(self._missing(labelled))
        while self._waiting and len(self.known) < len(labelled) + ENOUGH:
            self.prepare()

    def learn(self, now: Snapshot) -> tuple[list[str], Scored]:
        """The ids to label next, by margin, and what the probe of these labels says of all it knows."""
        self._prepare_enough([*now.pool, *now.validation])
        classes = list(now.classes)
        pool = {id: classes.index(number) for id, number in now.pool.items() if id in self.known}
        measured = {id: classes.index(number) for id, number in now.validation.items() if id in self.known}
        labels = np.array([*pool.values()], dtype=np.int64)
        texts, of = self.chapter.model.class_descriptions([*now.classes.values()], now.meant)
        rules = self.chapter.learner.experiment.rules
        described = (self._embed(texts), of) if rules.use_class_descriptions and texts else None
        probe = self._prober.best(self._features(pool), labels, len(classes), described)
        truth = np.array([*measured.values()], dtype=np.int64)
        seen = probe.logits(self._features(measured)) if measured else np.empty((0, len(classes)))
        temperature = shrunk_temperature(seen, truth, trained=False)
        found = Scored([*self.known], softmax(probe.logits(self._features(self.known)), temperature), classes)
        rows, _ = self._of[0]
        apart = dict(zip(found.ids, margins(found.probabilities), strict=True))
        return sorted((id for id in found.ids if id in rows and id not in pool), key=apart.__getitem__), found

    def _features(self, ids: Iterable[str]) -> Floats:
        return np.stack([self.known[id] for id in ids])

    def _missing(self, ids: Iterable[str]) -> list[str]:
        """Those that are not computed yet; a text that came after the chapter's were counted waits for the next one."""
        if not self.probe_until:
            return []
        return [id for id in ids if id not in self.known and any(id in rows for rows, _ in self._of)]

    def _describe(self, ids: Sequence[str]) -> None:
        for rows, features in self._of:
            mine = [id for id in ids if id in rows]
            if mine:
                self.known |= zip(mine, features.of(np.array([rows[id] for id in mine])), strict=True)


def serving_order(session: Session) -> list[str]:
    """The texts that nobody has labelled, in the order in which they are served while no model has a say."""
    found: list[list[str]] = []
    for split in ("validation", "pool"):
        texts = select(Text.id).where(Text.split == split, Text.open).order_by(Text.place)
        found.append([*session.scalars(texts.limit(AHEAD))])
    validation, pool = found
    paired = [id for pair in zip(validation, pool, strict=False) for id in pair]
    return [*dict.fromkeys([*paired[:64], *pool])]
