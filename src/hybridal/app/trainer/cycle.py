"""The trainer's cycle: check for work, and do at most one piece of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy.exc import InterfaceError, OperationalError

from hybridal.app.project import READER_FILE, Project, clear_scratch, replaced_folders
from hybridal.app.project_settings import first_batch
from hybridal.app.trainer import chapter as chapters
from hybridal.app.trainer.background_scoring import BackgroundScoring
from hybridal.app.trainer.chapter import Chapter, ModelSpec, learner_options, model_options
from hybridal.app.trainer.explanations import explain
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
    class_descriptions,
    labelled_ids,
    learnt_classes,
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

BATCHES_AHEAD = 4  # queued, so that people do not run out of chosen texts while the next model trains
HEARTBEAT = 5.0  # seconds between two status updates while there is no work
DATABASE_ERRORS = (OperationalError, InterfaceError)  # the database is away
log = logging.getLogger(__name__)


class Cycle:
    """The work of one trainer process.

    All state that matters is in the database and in the run folder. So the process may be killed at any instant: the
    next one loads the newest chapter, compares the labels it has learnt with the consensus, and continues.

    Attributes:
        project: The project to train.
        status: Writes the phase and the progress of the trainer to the database.
        chapter: The chapter that is loaded; None before the first round.
        first: The probe that is shown before a chapter's round; None once the model is trained.
        scoring: Scores all texts while there is nothing to learn.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.status = Status(project.sessions)
        self.chapter: Chapter | None = None
        self.first: FirstModel | None = None
        self.scoring = BackgroundScoring(project)
        self._loaded_for: tuple[object, ...] = ()  # texts, classes and options when the first model was last loaded
        self._labelled: list[str] = []  # labelled texts when they were last counted
        self._counted_at = -1  # the newest annotation when labels were last counted
        self._to_explain: int | None = None  # the row of a text
        self._failed_at: int | None = None  # the newest annotation when an update last failed

    def start(self) -> None:
        """Load the newest chapter, and publish its last round if the process before could not."""
        self.status.say("loading")
        self.project.runs.mkdir(parents=True, exist_ok=True)
        clear_scratch(self.project.runs)
        chapter = self.chapter = chapters.newest(self.project.runs)
        with self.project.reads() as session:
            shown = published_round(session)
        if chapter is not None:
            self._leave_reader(chapter)
            for folder in replaced_folders(self.project.runs):
                remove_folder(folder)  # otherwise it would count again once its replacement is replaced
        if chapter is None:
            self.status.say("waiting", round=0, learnt_annotation=0)
        elif chapter.round != shown:  # saved, but not published
            self._attempt(lambda: self._publish(chapter, None, ""), "", 0)
        else:
            self.status.say("waiting", round=shown)

    def turn(self) -> bool:
        """Update the model if that is due or requested; return whether it was."""
        with self.project.reads() as session:
            newest, request, self._to_explain = poll(session)
        now = None if request else self._due_snapshot(newest)
        if request or now is not None:
            self._attempt(lambda: self._update(now or self._snapshot(), request), request, newest)
            return True
        self.status.beat(HEARTBEAT)
        return False

    def explain(self) -> bool:
        """Explain a prediction that is on a person's screen; return whether there was one."""
        row, self._to_explain = self._to_explain, None
        if row is None:
            return False
        explain(self.project, self.chapter, row)
        return True

    def prepare(self) -> bool:
        """Do one step of preparing the first model; return whether there was one left.

        It never fails: an error is logged, and shown when a training that needs the first model fails.
        """
        if self._failed_at is not None or (self.chapter is not None and self.first is None):
            return False
        try:
            return self._prepare()
        except DATABASE_ERRORS:
            raise
        except Exception:
            log.exception("The first model could not be prepared.")
            self.first = None
            return False

    def score(self) -> bool:
        """Score some texts in the background; return whether there were any left. Errors are logged."""
        if self.chapter is None:
            return False
        try:
            return self.scoring.step(self.chapter)
        except DATABASE_ERRORS:
            raise
        except Exception:
            log.exception("The texts could not be scored.")
            return False

    def _prepare(self) -> bool:
        if self.chapter is None:
            with self.project.reads() as session:
                there = (*loadable(session), model_options(self.project))
                classes, descriptions = learnt_classes(session), class_descriptions(session)
            if there != self._loaded_for:
                self._loaded_for = there
                self._load(self._snapshot())
                return True
            drawn, scored = self.first.draw(classes, descriptions) if self.first is not None else ([], [])
            if drawn:
                publish(self.project, 0, drawn, scored)
                self._counted_at = -1  # write the status again, with the number of missing labels
        if self.first is None or self.first.is_ready(self._labelled):
            return False
        self.first.prepare(self._labelled)
        return True

    def _load(self, now: Snapshot) -> None:
        """Load a learner of the texts, so that it is ready when labels are due."""
        self.first = None
        with self.project.reads() as session:
            order = serving_order(session)
        if len(now.classes) < 2 or not order:
            return
        self.first = FirstModel(self._chapter_for(now), order)
        self._counted_at = -1  # write the status again, with the number of missing labels

    @property
    def _queue_size(self) -> int:
        return BATCHES_AHEAD * int(self.project.setting("batch"))

    def _snapshot(self) -> Snapshot:
        with self.project.reads() as session:
            return snapshot(session)

    def _due_snapshot(self, newest: int) -> Snapshot | None:
        """Count the labels if there are new annotations; return the snapshot if they are enough for an update."""
        if newest == self._counted_at:
            return None
        batch = int(self.project.setting("batch"))
        # A failed update is repeated after a batch of annotations, or on request.
        if self._failed_at is not None and newest - self._failed_at < batch:
            return None
        self._counted_at = newest
        now = self._snapshot()
        self._labelled = [*now.pool, *now.validation]
        labels = now.labels(self.chapter.learnt() if self.chapter else {})
        missing = missing_labels(labels, self.chapter is not None, batch, first_batch(self.project.settings()))
        if missing:
            self.status.say("waiting", done=labels.new, total=labels.new + missing, error="")
            return None
        return now

    def _attempt(self, work: Callable[[], None], request: str, newest: int) -> None:
        """Do the work; if it fails, write the error to the status."""
        try:
            work()
            self._counted_at, self._failed_at = -1, None
        except DATABASE_ERRORS:
            raise  # no status can be written; the next process finds what is left to do
        except Exception as error:
            log.exception("The trainer failed.")
            # The learner may be half updated; the folder has the last complete round.
            self.chapter, self.first, self._failed_at = None, None, newest
            self._loaded_for = ()
            with self.project.sessions.begin() as session:
                why, round = error_sentence(error, self.project.folder), published_round(session)
                write_status(session, phase="failed", error=why, round=round, seconds_left=None)
                clear_request(session, request)

    def _update(self, now: Snapshot, request: str) -> None:
        """Learn the labels of a snapshot, save the round, and publish its queue and predictions."""
        if why := refusal(now.labels({})):
            raise UserError(why)
        if self.chapter is None and self.first is None:
            self._load(now)  # labels came before it was prepared
        last = request == "finish"
        if not last:  # a final round is requested for itself, not for a quick first model
            self._show_first(now)
        self.chapter = chapter = self._chapter_for(now)
        if self.first is not None and not self.first.serves(now):
            self.first = None
        elif self.first is not None and not self.first.is_of(chapter):  # classes, texts or the encoder have changed
            self.first = FirstModel(chapter, self.first.order)
        chapter.sync_labels(now)
        # The process before may have ended between the final round and its publication. A new chapter has to learn.
        if last and chapter.is_finished and chapter.folder.exists():
            self.scoring.export(chapter)
            self._finish_request(request, learnt_annotation=now.newest)
            return
        left = expected_seconds(chapter.learner.history, chapter.examples())
        self.status.say("training", update="", round=chapter.round + 1, seconds_left=left)
        chapter.learn(self.status, last)
        self._publish(chapter, now.newest, request)

    def _show_first(self, now: Snapshot) -> None:
        """Publish the probe of these labels before the round begins, which takes longer."""
        first = self.first
        if first is None or not first.serves(now):
            return
        round = (self.chapter or first.chapter).round + 1
        self.status.say("training", update="", round=round)
        first.chapter.learner.observer = self.status  # which thousands of classes keep busy for minutes
        queue, scored = first.learn(now, self._queue_size)
        publish(self.project, round, queue, [scored], now.newest, phase="training")

    def _chapter_for(self, now: Snapshot) -> Chapter:
        """Return the current chapter, or a new one if classes, texts, learnt descriptions or options have changed.

        The new chapter takes the place of the last one, with its rounds and weights. Only with other options it comes
        after it, and its model learns all labels from scratch.
        """
        spec, runs = ModelSpec.of(now, self.project), self.project.runs
        prepared = self.first.chapter if self.first else None
        last = self.chapter or prepared or chapters.newest(runs)
        if last is not None and last.spec == spec and last.covers_texts(now) and last.has_same_classes(now):
            return last
        self.status.say("loading")
        with self.project.reads() as session:
            task = task_of(session, self.project.setting("name"), now)
        is_same_model = last is not None and last.spec.options == spec.options
        options = learner_options(self.project)
        if last is not None and is_same_model:
            options["backbone"] = last.learner.settings.backbone  # the candidates that were available at its beginning
        learner = ActiveLearner(task, observer=self.status, **options)
        if last is not None and last.learner.history and is_same_model:
            begun = chapters.continue_with(last, runs, spec, learner)
        else:
            begun = chapters.begin(runs, spec, learner)
        if last is not None and is_same_model:
            begun.reuse_features(last)
        self._leave_reader(begun)
        return begun

    def _leave_reader(self, chapter: Chapter) -> None:
        """Save the tokenizer, so that the page can show how much of a text the model reads; errors are ignored."""
        with suppress(OSError):
            chapter.model.encoder.save_reader(self.project.folder / READER_FILE)

    def _publish(self, chapter: Chapter, learnt_annotation: int | None, request: str) -> None:
        before = chapter.learner.history[-2:-1]
        left = before[0].seconds.get("score") if before else None
        self.status.say("scoring", round=chapter.round, seconds_left=left)
        queue, scored = chapter.choose(self._queue_size)
        chapter.save()
        if request == "finish":
            self.scoring.export(chapter)  # offered for download before all texts are scored
        with self.project.reads() as session:
            labelled = labelled_ids(session)  # including labels that were given during the training
        publish(self.project, chapter.round, queue, [*scored, chapter.predict(labelled)], learnt_annotation, request)

    def _finish_request(self, request: str, **values: int) -> None:
        with self.project.sessions.begin() as session:
            write_status(session, phase="waiting", done=0, total=0, seconds_left=None, error="", **values)
            clear_request(session, request)
