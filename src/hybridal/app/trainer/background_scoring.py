"""The newest model reads all texts in the background, a part at a time: learning goes first, and no part is lost."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import or_, select, update

from hybridal.app.db.schema import Class, Lease, Prediction, Scoring, Tally, Text
from hybridal.app.project import MODEL_FOLDER, Project, clear_scratch
from hybridal.app.trainer.chapter import Chapter, write_model
from hybridal.app.trainer.embeddings import read_texts, unread
from hybridal.app.trainer.feature_cache import Readings
from hybridal.app.trainer.publish import error_sentence, seconds_left
from hybridal.app.trainer.stored_predictions import PART, Scored, keep_predictions
from hybridal.measures.calibration import softmax

RAY_VARIABLE = "HYBRIDAL_RAY"
SHARD = 1024  # texts that a worker of a cluster gets at once


class BackgroundScoring:
    """What is left to do for the model of a chapter's last round.

    First the texts that people look at are scored, then those that no model has seen, then those of the oldest model.
    Next the pretrained encoder reads all texts that it has not read yet, so that similar ones can be found; while the
    model is a probe on top of it, that is all there is to compute, once for all rounds. What a trained encoder said of
    a text is kept until it is trained again. At the end the model is written for download, unless
    it is a finished one, which has been written already. What is done is
    known from the database and the files: a trainer that was killed loses the part that it was at.

    Where `HYBRIDAL_RAY` names a Ray cluster, its workers score what nobody looks at; probes stay here, where texts are
    read anyway.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._of: tuple[
            Any, ...
        ] = ()  # the model, and how many texts there were, when it was last counted what is left
        self._to_score: list[int] = []
        self._parts: Iterator[Scored] = iter(())  # what models say of those
        self._to_read: list[int] | None = None  # not looked at yet
        self._done, self._here, self._seconds = 0, 0, 0.0  # texts, those of this process, and how long they took
        self._exported: tuple[Any, ...] = ()
        self._readings = Readings()

    def step(self, chapter: Chapter) -> bool:
        """Does one part; False when nothing is left, or people want it to pause."""
        with self.project.reads() as session:
            wanted, texts = session.get_one(Scoring, 1), session.get_one(Tally, 1).texts
        if wanted.state != "running":
            self._let_go()
            return False
        try:
            if self._of != (chapter.folder, chapter.round, texts):
                self._begin(chapter, texts)
            return self._step(chapter, wanted.first, texts)
        except Exception as error:
            # What is done is kept; who resumes tries the rest again.
            self._say(state="paused", error=error_sentence(error, self.project.folder))
            self._let_go()
            raise

    def _let_go(self) -> None:
        """Of workers elsewhere; what is left is counted again when it goes on."""
        self._parts, self._of = iter(()), ()

    def _begin(self, chapter: Chapter, texts: int) -> None:
        """Counts what this model has to score: what people have in their hands first, then the oldest."""
        stale = select(Text.row, Prediction.round).outerjoin(Prediction, Prediction.text_row == Text.row)
        stale = stale.where(Text.deleted.is_(None), or_(Prediction.round.is_(None), Prediction.round != chapter.round))
        with self.project.reads() as session:
            held = {*session.scalars(select(Lease.text_row))}
            rows = [*session.execute(stale)]
        rows.sort(key=lambda one: (one.row not in held, -1 if one.round is None else one.round, one.row))
        self._to_score = [one.row for one in rows]
        address = os.environ.get(RAY_VARIABLE)
        elsewhere = address and chapter.probe() is None
        self._parts = self._from_cluster(chapter, str(address)) if elsewhere else self._from_here(chapter)
        self._to_read, self._of = None, (chapter.folder, chapter.round, texts)
        self._done, self._here, self._seconds = texts - len(rows), 0, 0.0
        self._say(round=chapter.round, done=self._done, total=texts, seconds_left=None, error="")

    def _step(self, chapter: Chapter, first: str, texts: int) -> bool:
        begun = time.monotonic()
        scored = self._score(chapter, self._looked_at(first)) if first else next(self._parts, None)
        if scored is not None:
            keep_predictions(self.project, chapter.round, scored)
            self._done, self._here = self._done + len(scored.ids), self._here + len(scored.ids)
            self._seconds += time.monotonic() - begun
            rest = texts - self._done
            left = seconds_left(self._seconds, self._here, self._here + rest) if rest > 0 else None
            self._say(done=min(self._done, texts), seconds_left=left, error="")
            return True
        if self._to_read is None:
            self._to_read = unread(self.project, chapter)
        if self._to_read:
            part, self._to_read = self._to_read[:PART], self._to_read[PART:]
            read_texts(self.project, chapter, self._texts(part))
            return True
        self.export(chapter)
        return False

    def _looked_at(self, first: str) -> Sequence[Any]:
        """The texts that somebody looks at, as far as they are left."""
        seen = {int(row) for row in first.split(",")}
        part = [row for row in self._to_score if row in seen]
        self._to_score = [row for row in self._to_score if row not in seen]
        with self.project.sessions.begin() as session:
            session.execute(update(Scoring).where(Scoring.first == first).values(first=""))
        return self._texts(part)

    def _next(self, count: int) -> Sequence[Any]:
        """The texts to score next."""
        part, self._to_score = self._to_score[:count], self._to_score[count:]
        return self._texts(part)

    def _from_here(self, chapter: Chapter) -> Iterator[Scored]:
        while self._to_score:
            yield self._score(chapter, self._next(PART))

    def _from_cluster(self, chapter: Chapter, address: str) -> Iterator[Scored]:
        """The model travels to its workers; texts are read as they have room for them."""
        from hybridal.learners.pool_scoring import score_pool

        self.export(chapter)
        asked: deque[str] = deque()

        def bodies() -> Iterator[str]:
            while self._to_score:
                for text in self._next(SHARD):
                    asked.append(text.id)
                    yield text.body

        for found in score_pool(bodies(), self.project.exports / MODEL_FOLDER, address, SHARD):
            yield Scored([asked.popleft() for _ in found], found, chapter.spec.classes)

    def _texts(self, rows: Sequence[int]) -> Sequence[Any]:
        there = (Text.row.in_(rows), Text.deleted.is_(None))
        asked = select(Text.row, Text.id, Text.body, Text.digest).where(*there).order_by(Text.row)
        with self.project.reads() as session:
            return session.execute(asked).all()

    def _score(self, chapter: Chapter, texts: Sequence[Any]) -> Scored:
        probe, classes = chapter.probe(), chapter.spec.classes
        if not texts:
            return Scored((), np.empty((0, len(classes))), classes)
        if probe is None:
            logits = chapter.model.classifier.head().logits(self._readings.of(chapter, texts))
        else:
            logits = probe.logits(read_texts(self.project, chapter, texts))
        return Scored([text.id for text in texts], softmax(logits, chapter.temperature), classes)

    def export(self, chapter: Chapter) -> None:
        """Write the model for download, unless it is there already under the names that the classes have now."""
        with self.project.reads() as session:
            names = dict(session.execute(select(Class.number, Class.name)).all())
        classes = [names[number] for number in chapter.spec.classes]
        if self._exported != (exported := (chapter.folder, chapter.round, classes)):
            clear_scratch(self.project.exports, MODEL_FOLDER)
            write_model(chapter, classes, self.project.exports / MODEL_FOLDER)
            self._exported = exported

    def _say(self, **values: Any) -> None:
        with self.project.sessions.begin() as session:
            session.execute(update(Scoring).where(Scoring.number == 1).values(values))
