"""Scoring of all texts in the background, a part at a time, while there is nothing to learn."""

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
from hybridal.app.trainer.feature_cache import FeatureCache
from hybridal.app.trainer.publish import error_sentence, seconds_left
from hybridal.app.trainer.stored_predictions import PART, ScoredTexts, keep_predictions

RAY_VARIABLE = "HYBRIDAL_RAY"
SHARD = 1024  # texts per task of a cluster worker


class BackgroundScoring:
    """The remaining work for the model of a chapter's last round.

    1. Score texts: those on people's screens first, then those without a prediction, then those with the oldest ones.
    2. Compute the features of the pretrained encoder for all texts, which the search for similar texts needs. While
       the model is a probe, scoring needs them too.
    3. Export the model for download, unless that was done when it was finished.

    Progress is read from the database and the files, so a killed trainer loses only the current part.

    If `HYBRIDAL_RAY` names a Ray cluster, its workers score the texts that are not on a screen. Probes are always
    scored here, because this process needs the features anyway.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._counted_for: tuple[Any, ...] = ()  # model and number of texts when the remaining work was counted
        self._to_score: list[int] = []
        self._parts: Iterator[ScoredTexts] = iter(())  # predictions for them
        self._to_read: list[int] | None = None  # texts without features; None if not counted yet
        self._done, self._here, self._seconds = 0, 0, 0.0  # scored texts, those of this process, and its seconds
        self._exported: tuple[Any, ...] = ()
        self._features = FeatureCache()

    def step(self, chapter: Chapter) -> bool:
        """Do one part; return False if nothing is left, or scoring is paused."""
        with self.project.reads() as session:
            row, texts = session.get_one(Scoring, 1), session.get_one(Tally, 1).texts
        if row.state != "running":
            self._release()
            return False
        try:
            if self._counted_for != (chapter.folder, chapter.round, texts):
                self._begin(chapter, texts)
            return self._step(chapter, row.first, texts)
        except Exception as error:
            # Finished parts are kept; resuming tries the rest again.
            self._say(state="paused", error=error_sentence(error, self.project.folder))
            self._release()
            raise

    def _release(self) -> None:
        """Release cluster workers; the remaining work is counted again on resume."""
        self._parts, self._counted_for = iter(()), ()

    def _begin(self, chapter: Chapter, texts: int) -> None:
        """Count what this model has to score: leased texts first, then those with the oldest predictions."""
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
        self._to_read, self._counted_for = None, (chapter.folder, chapter.round, texts)
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
        """The texts on people's screens that are not scored yet."""
        seen = {int(row) for row in first.split(",")}
        part = [row for row in self._to_score if row in seen]
        self._to_score = [row for row in self._to_score if row not in seen]
        with self.project.sessions.begin() as session:
            session.execute(update(Scoring).where(Scoring.first == first).values(first=""))
        return self._texts(part)

    def _next(self, count: int) -> Sequence[Any]:
        """Take the texts to score next."""
        part, self._to_score = self._to_score[:count], self._to_score[count:]
        return self._texts(part)

    def _from_here(self, chapter: Chapter) -> Iterator[ScoredTexts]:
        while self._to_score:
            yield self._score(chapter, self._next(PART))

    def _from_cluster(self, chapter: Chapter, address: str) -> Iterator[ScoredTexts]:
        """Send the exported model to the workers, and texts as they become free."""
        from hybridal.learners.pool_scoring import score_pool

        self.export(chapter)
        asked: deque[str] = deque()

        def bodies() -> Iterator[str]:
            while self._to_score:
                for text in self._next(SHARD):
                    asked.append(text.id)
                    yield text.body

        for found in score_pool(bodies(), self.project.exports / MODEL_FOLDER, address, SHARD):
            ids = [asked.popleft() for _ in found]
            yield ScoredTexts(ids, found, chapter.spec.classes, chapter.learner.state.thresholds)

    def _texts(self, rows: Sequence[int]) -> Sequence[Any]:
        there = (Text.row.in_(rows), Text.deleted.is_(None))
        asked = select(Text.row, Text.id, Text.body, Text.digest).where(*there).order_by(Text.row)
        with self.project.reads() as session:
            return session.execute(asked).all()

    def _score(self, chapter: Chapter, texts: Sequence[Any]) -> ScoredTexts:
        probe = chapter.probe()
        if not texts:
            return chapter.score((), np.empty((0, len(chapter.spec.classes))))
        if probe is None:
            logits = chapter.model.classifier.head().logits(self._features.of(chapter, texts))
        else:
            logits = probe.logits(read_texts(self.project, chapter, texts))
        return chapter.score([text.id for text in texts], logits)

    def export(self, chapter: Chapter) -> None:
        """Export the model for download, unless it is there already with the current class names."""
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
