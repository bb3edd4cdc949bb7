"""What the trainer writes for the pages: its status, its errors, and the queue and predictions of a new model."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import QueuedText, Trainer, now
from hybridal.app.project import Project
from hybridal.app.trainer.stored_predictions import ScoredTexts, keep_predictions, rows_of, write_thresholds
from hybridal.core.observer import Observer
from hybridal.core.rounds import Round
from hybridal.errors import UserError

MAX_ERROR = 300  # characters
BUSY = ("loading", "training", "scoring")  # phases with progress
PROGRESS_PAUSE = 0.5  # seconds between two progress updates; the page polls less often
_ABSOLUTE = re.compile(r"(?<![\w/.])(?:/[^\s/'\"<>:;,()]+)+/?")
log = logging.getLogger(__name__)


def error_sentence(error: BaseException, folder: Path) -> str:
    """Describe an error without folders: the text of a `UserError`, otherwise the type and the first line.

    >>> error_sentence(OSError("no room in /home/ann/texts/tickets.hybridal/runs/001/rounds.jsonl"), Path("/nowhere"))
    'OSError: no room in rounds.jsonl'
    """
    # The project's own folder first: its name may hold spaces, which end a path everywhere else.
    message = str(error).replace(f"{folder}/", "").replace(str(folder), folder.name)
    first = next(iter(message.strip().splitlines()), "").strip()
    bare = _ABSOLUTE.sub(lambda path: Path(path.group()).name, first)
    sentence = bare if isinstance(error, UserError) else f"{type(error).__name__}: {bare}".rstrip(": ")
    return sentence if len(sentence) <= MAX_ERROR else sentence[: MAX_ERROR - 1] + "…"


def write_status(session: Session, **values: Any) -> None:
    """Update the status row of the trainer, or insert it."""
    values["heartbeat"] = now()
    if not session.execute(update(Trainer).where(Trainer.number == 1).values(values)).rowcount:  # type: ignore[attr-defined]
        session.add(Trainer(number=1, **values))


def clear_request(session: Session, request: str) -> None:
    """Remove a request that was dealt with, unless another has replaced it."""
    session.execute(update(Trainer).where(Trainer.number == 1, Trainer.request == request).values(request=""))


def seconds_left(elapsed: float, done: int, total: int) -> float | None:
    """Extrapolate the remaining time from the pace so far.

    >>> seconds_left(elapsed=6.0, done=2, total=5), seconds_left(0.1, 0, 5)
    (9.0, None)
    """
    return elapsed / done * (total - done) if done else None


def expected_seconds(history: Sequence[Round], examples: int) -> float | None:
    """Estimate the duration of a training on this many examples from the pace of the last round."""
    if not history or not history[-1].cost.examples:
        return None
    return history[-1].training_time / history[-1].cost.examples * examples


class Status(Observer):
    """Writes the trainer's phase and progress to the database; a failing write is only logged."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self._step = ""
        self._started = self._last = self._written = time.monotonic()

    def say(self, phase: str, **values: Any) -> None:
        """Begin a phase, and write it at once."""
        fresh: dict[str, Any] = {"step": "", "done": 0, "total": 0, "seconds_left": None}
        self._step, self._started = "", time.monotonic()
        self._last = self._started
        self._write(phase=phase, **(fresh | values))

    def progress(self, step: str, done: int, total: int) -> None:
        """Write the progress of a step of the phase, unless it was written a moment ago.

        Between updates, the texts that background scoring reads are not the trainer's progress.

        Args:
            step: What is counted: `texts`, `fits` or `epochs`.
            done: How many are done.
            total: How many there are.
        """
        moment = time.monotonic()
        if step != self._step:
            self._step, self._started = step, self._last
        self._last = moment
        if moment - self._written >= PROGRESS_PAUSE:
            left = seconds_left(moment - self._started, done, total)
            self._write(while_busy=True, step=step, done=done, total=total, seconds_left=left)

    def round_started(self, round: int, _of: int | None, update: str) -> None:
        self._write(round=round, update=update)

    def epoch_done(self, epoch: int, of: int) -> None:
        self.progress("epochs", epoch, of)

    def probe_fitted(self, fits: int, of: int) -> None:
        self.progress("fits", fits, of)

    def texts_done(self, _what: str, done: int, of: int) -> None:
        self.progress("texts", done, of)

    def beat(self, every: float) -> None:
        """Write a sign of life if nothing was written for this many seconds."""
        if time.monotonic() - self._written >= every:
            self._write()

    def _write(self, while_busy: bool = False, **values: Any) -> None:
        self._written = time.monotonic()
        try:
            with self.sessions.begin() as session:
                if not while_busy or session.get_one(Trainer, 1).phase in BUSY:
                    write_status(session, **values)
        except SQLAlchemyError:
            log.exception("The database did not take the status %s.", values)


def publish(
    project: Project,
    round: int,
    queue: Sequence[str],
    scored: Iterable[ScoredTexts],
    learnt_annotation: int | None = None,
    request: str = "",
    phase: str = "waiting",
) -> None:
    """Replace the queue and the predictions by those of a new model.

    Args:
        project: The project of the model.
        round: The model's round.
        queue: Ids of texts to label next, best first.
        scored: Predictions to store. While `phase` is "training" they count as those of the round before, so that the
            round itself replaces them.
        learnt_annotation: The newest annotation that the model has learnt.
        request: The request that this fulfils; it is removed.
        phase: What the trainer does next.
    """
    for some in scored:
        if some.thresholds:
            with project.sessions.begin() as session:
                write_thresholds(session, some)
        keep_predictions(project, round - (phase == "training"), some)
    with project.reads() as session:
        rows = rows_of(session, queue)
    queued = [{"text_row": rows[id], "rank": rank, "round": round} for rank, id in enumerate(queue) if id in rows]
    learnt = {} if learnt_annotation is None else {"learnt_annotation": learnt_annotation}
    with project.sessions.begin() as session:
        session.execute(delete(QueuedText))
        if queued:
            session.execute(insert(QueuedText), queued)
        write_status(session, phase=phase, round=round, done=0, total=0, seconds_left=None, error="", **learnt)
        clear_request(session, request)


def published_round(session: Session) -> int:
    """The round whose model filled the queue; 0 if it is empty. Texts that people put first have a negative rank."""
    return session.scalar(select(func.max(QueuedText.round)).where(QueuedText.rank >= 0)) or 0
