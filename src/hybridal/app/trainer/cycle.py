"""The trainer's cycle: look, and do at most one piece of work."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy.exc import InterfaceError, OperationalError

from hybridal.app.project import READER_FILE, Project, clear_scratch, replaced_folders
from hybridal.app.project_settings import first_batch
from hybridal.app.trainer import chapter as chapters
from hybridal.app.trainer.background_scoring import BackgroundScoring
from hybridal.app.trainer.chapter import (
    Chapter,
    Frame,
    learner_options,
    model_settings,
)
from hybridal.app.trainer.first_model import FirstModel, serving_order
from hybridal.app.trainer.publish import (
    Status,
    clear_request,
    error_sentence,
    expected_seconds,
    publish,
    published_round,
    write_status,
)
from hybridal.app.trainer.snapshot import (
    Snapshot,
    class_meanings,
    loadable,
    missing_labels,
    poll,
    refusal,
    snapshot,
    task_of,
)
from hybridal.errors import UserError
from hybridal.learners.active_learner import ActiveLearner
from hybridal.system.files import remove_folder

# So many batches are queued that nobody runs out of chosen texts while the next model trains.
AHEAD = 4
ALIVE = 5.0  # seconds between two signs of life
AWAY = (OperationalError, InterfaceError)
log = logging.getLogger(__name__)


class Cycle:
    """One trainer at work. Everything that it must remember is in the database and in the run folder.

    So it may be killed at any instant: the next one reads the newest chapter, compares what it has learnt with the
    consensus, and goes on.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.status = Status(project.sessions)
        self.chapter: Chapter | None = None
        self.first: FirstModel | None = None  # while there is no model, or only a probe
        self.scoring = BackgroundScoring(project)
        self._prepared: tuple[object, ...] = ()  # what there was when the first model was last prepared
        self._labelled: list[str] = []  # the texts that had labels when they were last counted
        self._looked_at = -1  # the newest answer when the labels were last counted
        self._failed_at: int | None = None  # the newest answer when an update last failed

    def start(self) -> None:
        """Takes up what is there."""
        self.status.say("loading")
        self.project.runs.mkdir(parents=True, exist_ok=True)
        clear_scratch(self.project.runs)
        chapter = self.chapter = chapters.newest(self.project.runs)
        with self.project.reads() as session:
            shown = published_round(session)
        if chapter is not None:
            self._leave_reader(chapter)
            for folder in replaced_folders(self.project.runs):
                remove_folder(folder)  # else it counts again once what replaced it is replaced, too
        if chapter is None:
            self.status.say("waiting", round=0, seen=0)
        elif chapter.round != shown:
            # The last trainer ended between saving a round and saying so.
            self._attempt(lambda: self._publish(chapter, None, ""), "", 0)
        else:
            self.status.say("waiting", round=shown)

    def turn(self) -> bool:
        """Whether there was something to do."""
        with self.project.reads() as session:
            newest, asked = poll(session)
        if asked or self._is_due(newest):
            self._attempt(lambda: self._update(asked), asked, newest)
            return True
        self.status.beat(ALIVE)
        return False

    def prepare(self) -> bool:
        """Computes a little of what the first model needs before it has labels; whether there was anything left.

        It never fails: what cannot be prepared is told when a training is due, as it is without preparing.
        """
        if self._failed_at is not None or (self.chapter is not None and self.first is None):
            return False
        try:
            return self._prepare()
        except AWAY:
            raise
        except Exception:
            log.exception("The first model could not be prepared.")
            self.first = None
            return False

    def score(self) -> bool:
        """Scores some of all texts, where nothing is to be learnt; whether there was anything left. It never fails."""
        if self.chapter is None:
            return False
        try:
            return self.scoring.step(self.chapter)
        except AWAY:
            raise
        except Exception:
            log.exception("The texts could not be scored.")
            return False

    def _prepare(self) -> bool:
        if self.chapter is None:
            with self.project.reads() as session:
                there, meanings = (*loadable(session), model_settings(self.project)), class_meanings(session)
            if there != self._prepared:
                self._prepared = there
                self._load()
                return True
            drawn = self.first.draw(meanings) if self.first is not None else []
            if drawn:
                publish(self.project, 0, drawn, ())
        if self.first is None or self.first.is_ready(self._labelled):
            return False
        self.first.prepare(self._labelled)
        return True

    def _load(self) -> None:
        """Texts are there: a learner of them is made, so that all of it is loaded when labels are."""
        self.first = None
        with self.project.reads() as session:
            now, order = snapshot(session), serving_order(session)
        if len(now.classes) < 2 or not order:
            return
        self.first = FirstModel(self._chapter_for(now), order)
        self._looked_at = -1  # it says that it waits, and for how many labels

    @property
    def _ahead(self) -> int:
        return AHEAD * int(self.project.setting("batch"))

    def _is_due(self, newest: int) -> bool:
        if newest == self._looked_at:
            return False
        batch = int(self.project.setting("batch"))
        # After a failure it takes a batch of answers, or somebody who asks, to try again.
        if self._failed_at is not None and newest - self._failed_at < batch:
            return False
        self._looked_at = newest
        with self.project.reads() as session:
            now = snapshot(session)
        self._labelled = [*now.pool, *now.validation]
        labels = now.labels(self.chapter.learnt() if self.chapter else {})
        missing = missing_labels(labels, self.chapter is not None, batch, first_batch(self.project.settings()))
        if missing:
            self.status.say("waiting", done=labels.new, total=labels.new + missing, error="")
        return not missing

    def _attempt(self, work: Callable[[], None], asked: str, newest: int) -> None:
        """Does it; when that fails, says why."""
        try:
            work()
            self._looked_at, self._failed_at = -1, None
        except AWAY:
            raise  # nothing can be said while the database is away; whoever starts again sees what is left to do
        except Exception as error:
            log.exception("The trainer failed.")
            # What it holds may be half of an update; the folder holds the last whole one.
            self.chapter, self.first, self._failed_at = None, None, newest
            self._prepared = ()
            with self.project.sessions.begin() as session:
                why, round = error_sentence(error, self.project.folder), published_round(session)
                write_status(session, phase="failed", error=why, round=round, seconds_left=None)
                clear_request(session, asked)

    def _update(self, asked: str) -> None:
        """Snapshot, teach, update, choose, save, say so."""
        with self.project.reads() as session:
            now = snapshot(session)
        if why := refusal(now.labels({})):
            raise UserError(why)
        if self.chapter is None and self.first is None:
            self._load()  # labels came faster than it was prepared
        last = asked == "finish"
        if not last:  # who asks for that wants the round itself
            self._show_first(now)
        self.chapter = chapter = self._chapter_for(now)
        if self.first is not None and not self.first.serves(now):
            self.first = None
        elif self.first is not None and self.first.chapter is not chapter:  # other classes or texts by now
            self.first = FirstModel(chapter, self.first.order)
        chapter.take(now)
        # By a trainer that ended before it could say so. A chapter that has just begun has something to learn.
        if last and chapter.is_finished and chapter.folder.exists():
            self.scoring.export(chapter)
            self._rest(asked, seen=now.answer)
            return
        left = expected_seconds(chapter.learner.history, chapter.examples())
        self.status.say("training", update=chapter.update(last), round=chapter.round + 1, seconds_left=left)
        chapter.learn(self.status, last)
        self._publish(chapter, now.answer, asked)

    def _show_first(self, now: Snapshot) -> None:
        """Publishes the probe of these labels before its round, which takes longer, begins."""
        first = self.first
        if first is None or not first.serves(now):
            return
        queue, scored = first.learn(now)
        round = (self.chapter or first.chapter).round + 1
        publish(self.project, round, queue[: self._ahead], [scored], now.answer, phase="training")

    def _chapter_for(self, now: Snapshot) -> Chapter:
        """The chapter that goes on; where classes or texts have come or gone, or something else is said of classes that
        is learnt, in a folder and with a head for them.

        Only a model that is made otherwise learns all labels from the beginning.
        """
        frame, runs = Frame.of(now, self.project), self.project.runs
        prepared = self.first.chapter if self.first else None
        last = self.chapter or prepared or chapters.newest(runs)
        if last is not None and last.frame == frame and last.holds(now) and last.calls(now):
            return last
        self.status.say("loading")
        with self.project.reads() as session:
            task = task_of(session, self.project.setting("name"), now)
        learner = ActiveLearner(task, **learner_options(self.project))
        if last is not None and last.learner.history and last.frame.engine == frame.engine:
            begun = chapters.go_on(last, runs, frame, learner)
        else:
            begun = chapters.begin(runs, frame, learner)
        if last is not None and last.frame.engine == frame.engine:
            begun.take_over(last)
        self._leave_reader(begun)
        return begun

    def _leave_reader(self, chapter: Chapter) -> None:
        """So that the page can show how much of a text this model reads; where it cannot, nothing else suffers."""
        with suppress(OSError):
            chapter.model.encoder.save_reader(self.project.folder / READER_FILE)

    def _publish(self, chapter: Chapter, seen: int | None, asked: str) -> None:
        before = chapter.learner.history[-2:-1]
        left = before[0].seconds.get("score") if before else None
        self.status.say("scoring", round=chapter.round, seconds_left=left)
        queue, scored = chapter.choose(self._ahead)
        chapter.save()
        if asked == "finish":
            self.scoring.export(chapter)  # the page offers a finished model at once, before all texts are scored
        with self.project.reads() as session:
            now = snapshot(session)
        labelled = chapter.predict([*now.pool, *now.validation])
        publish(self.project, chapter.round, queue, [*scored, labelled], seen, asked)

    def _rest(self, asked: str, **values: int) -> None:
        """Says that what was asked for is done."""
        with self.project.sessions.begin() as session:
            write_status(session, phase="waiting", done=0, total=0, seconds_left=None, error="", **values)
            clear_request(session, asked)
