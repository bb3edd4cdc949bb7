"""A chapter of a project's model: a run folder, its learner, when the next one begins, and the model to take away."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridal.app.project import CHAPTER_FILE, Project, chapter_folders, count_rounds, read_chapters
from hybridal.app.project_settings import first_batch
from hybridal.app.trainer.snapshot import Snapshot
from hybridal.app.trainer.stored_predictions import Scored
from hybridal.core.observer import Observer
from hybridal.core.outputs import Floats
from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.learners.active_learner import ActiveLearner
from hybridal.learners.transfer import transfer_learner
from hybridal.runs.export import export_model
from hybridal.system.files import folder_made_whole, remove_folder, strict_json


@dataclass(frozen=True)
class Frame:
    """The classes by number, how many texts are set aside for validation, and how the model is made.

    Names are not part of it: a class that is renamed is the same class, though its model may read its name.
    """

    classes: tuple[int, ...]
    reserve: int
    engine: Mapping[str, Any]

    @classmethod
    def of(cls, snapshot: Snapshot, project: Project) -> Frame:
        return cls(tuple(snapshot.classes), snapshot.reserve, model_settings(project))

    @classmethod
    def read(cls, folder: Path) -> Frame:
        said = json.loads((folder / CHAPTER_FILE).read_text(encoding="utf-8"))
        return cls(tuple(said["classes"]), said.get("reserve", 0), said["engine"])

    def write(self, folder: Path, replaces: str | None = None) -> None:
        said = {**asdict(self), "replaces": replaces}
        (folder / CHAPTER_FILE).write_text(strict_json(said, indent=2) + "\n", encoding="utf-8")


def model_settings(project: Project) -> dict[str, Any]:
    """The settings that shape a model; the others, and the machine, may change at any time."""
    names = ("backbone", "schedule", "protocol", "overrides", "acquisition", "seed")
    return {name: project.setting(name) for name in names}


def learner_options(project: Project) -> dict[str, Any]:
    """The keywords of a project's learner.

    Ranking by calibrated probabilities makes those of the candidates fit to be shown. What is measured on, the app has
    set aside itself, whatever else is overridden: a protocol that takes a share of the labels would learn it.
    """
    said = model_settings(project)
    batch, rules = int(project.setting("batch")), dict(said.pop("overrides"))
    candidates = rules.pop("candidates", 1000)
    return {
        **said,
        "device": project.setting("device"),
        "batch": batch,
        "initial": first_batch(project.settings()),
        "rounds": max(1, math.ceil(int(project.setting("budget")) / batch)),
        "candidates": candidates and max(int(candidates), 4 * batch),
        "calibrate": True,
        "validation": "fixed",
        **rules,
    }


if TYPE_CHECKING:
    from hybridal.models.training.probe import Probe
    from hybridal.models.transformer import TransformerModel

log = logging.getLogger(__name__)


class Chapter:
    """Rounds over one set of classes and texts, told in `folder`, after `before` rounds of earlier chapters.

    The engine knows the classes by the names that they had when the chapter began; here they go by number.
    """

    def __init__(
        self, folder: Path, frame: Frame, learner: ActiveLearner, before: int, replaces: Path | None = None
    ) -> None:
        self.folder, self.frame, self.learner, self.before = folder, frame, learner, before
        self.replaces = replaces

    @property
    def round(self) -> int:
        """The project's rounds so far, those of earlier chapters included."""
        return self.before + len(self.learner.history)

    @property
    def model(self) -> TransformerModel:
        return self.learner.transformer

    @property
    def is_finished(self) -> bool:
        """Whether the last round went over all labels once more, and no other label came since."""
        before, label_changes = (
            self.learner.history[-1].label_changes if self.learner.history else None,
            self.learner.label_changes,
        )
        return bool(before and before.last) and not (
            label_changes.added or label_changes.corrected or label_changes.withdrawn
        )

    def update(self, last: bool = False) -> str:
        """What the schedule would do next."""
        label_changes = replace(self.learner.label_changes, last=last)
        return self.learner.schedule.decide(self.learner.history, label_changes).spec

    def learnt(self) -> dict[str, int]:
        """The class number of each pool text that the model has learnt."""
        number = dict(zip(self.learner.experiment.task.classes, self.frame.classes, strict=True))
        return {id: number[name] for id, name in self.learner.labels.items()}

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether all texts that are there are of this chapter; some of its own may be deleted."""
        task = self.learner.experiment.task
        return len({*task.train.ids, *task.validation.ids} - snapshot.deleted) == snapshot.texts

    def calls(self, snapshot: Snapshot) -> bool:
        """Whether the classes are called and described as this chapter's model has learnt, if it learns that."""
        task = self.learner.experiment.task
        names = dict(zip(self.frame.classes, task.classes, strict=True))
        return not self.learner.experiment.rules.use_class_descriptions or (
            names == {**snapshot.classes} and task.meanings == snapshot.meant
        )

    def take_over(self, last: Chapter) -> None:
        """What the same pretrained encoder has read in the last chapter it need not read again."""
        before, now = last.learner.experiment.task.train, self.learner.experiment.task.train
        known = {id: (row, text) for row, (id, text) in enumerate(zip(before.ids, before.texts, strict=True))}
        pairs = ((row, known.get(id), text) for row, (id, text) in enumerate(zip(now.ids, now.texts, strict=True)))
        self.model.take_over(last.model, {row: its[0] for row, its, text in pairs if its and its[1] == text})

    def take(self, snapshot: Snapshot) -> None:
        """The next update learns what the snapshot says now: corrected labels and those taken back count too."""
        learner, task = self.learner, self.learner.experiment.task
        name = dict(zip(self.frame.classes, task.classes, strict=True))
        there = {*task.train.ids, *task.validation.ids}
        # A text that came after this chapter's were counted waits for the next one.
        wanted = {id: name[c] for id, c in {**snapshot.pool, **snapshot.validation}.items() if id in there}
        learner.leave_out(snapshot.deleted & {*task.train.ids})
        known = learner.labels
        learner.withdraw([id for id in (*known, *task.validation.ids) if id not in wanted])
        learner.teach({id: label for id, label in wanted.items() if known.get(id) != label}, update=False)

    def learn(self, observer: Observer, last: bool = False) -> Round:
        """One update on the labels that were taken; the `last` one before the model is used takes more trouble."""
        self.learner.observer = observer
        return self.learner.finish() if last else self.learner.update()

    def examples(self) -> int:
        """How many examples, counted once an epoch, the next update would train on."""
        rules, label_changes, labels = (
            self.learner.experiment.rules,
            self.learner.label_changes,
            len(self.learner.labels),
        )
        if labels < rules.probe_until:
            return 0
        update = self.learner.next_update
        some = min(labels, 2 * (label_changes.added + label_changes.corrected))
        seen = {"retrain": labels, "finetune": labels, "refit": 0}.get(update.name, some)
        seen += len(self.model.named) if seen else 0
        return seen * rules.epochs(seen, asked=getattr(update, "epochs", None))

    def choose(self, n: int) -> tuple[list[str], list[Scored]]:
        """The ids to label next, best first, and what the model thinks of all that it chose from, if of any."""
        batch = self.learner.query(n)
        seen = batch.candidates
        return batch.ids, [] if seen is None else [Scored(seen.ids, seen.probabilities(), self.frame.classes)]

    def predict(self, ids: Iterable[str]) -> Scored:
        """What the model thinks of these texts."""
        asked = set(ids)
        splits = (self.learner.experiment.task.train, self.learner.experiment.task.validation)
        texts = {id: text for s in splits for id, text in zip(s.ids, s.texts, strict=True) if id in asked}
        return Scored([*texts], self.learner.predict_proba([*texts.values()]), self.frame.classes)

    def known(self, ids: Iterable[str]) -> dict[str, Floats]:
        """What the pretrained encoder says of those texts that the rounds of this process looked at."""
        found = {id: self.model.features.known(self._rows[id]) for id in ids if id in self._rows}
        return {id: read for id, read in found.items() if read is not None}

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {id: row for row, id in enumerate(self.learner.experiment.task.train.ids)}

    def probe(self) -> Probe | None:
        """What the model is on top of the pretrained encoder; None once that is trained, too."""
        return self.model.as_probe(self.learner.pool)

    @property
    def encoder(self) -> tuple[Any, ...]:
        """Which one the model has: another one after each training, and the same after a refit of its head."""
        return self.learner, max((fact.round for fact in self.learner.history if fact.cost.steps), default=0)

    @property
    def temperature(self) -> float:
        return self.learner.history[-1].temperature or 1.0

    @property
    def reading(self) -> dict[str, Any]:
        """What decides how the pretrained encoder reads a text."""
        rules = self.learner.experiment.rules
        return {"backbone": self.learner.settings.backbone, "tokens": rules.max_length, "pooling": rules.pooling}

    def save(self) -> None:
        """Writes what is new; a chapter's folder appears whole, with its first round."""
        if self.folder.exists():
            self.learner.save(self.folder)
            return
        with folder_made_whole(self.folder) as scratch:
            self.learner.save(scratch)
            self.frame.write(scratch, None if self.replaces is None else self.replaces.name)
        if self.replaces is not None:
            remove_folder(self.replaces)


def newest(runs: Path) -> Chapter | None:
    """The chapter to go on with; None where there is none that can be read: then the labels are learnt anew."""
    found = chapter_folders(runs)
    if not found:
        return None
    try:
        if not any((found[-1] / "checkpoint").glob("round-*.safetensors")):
            raise UserError(f"{found[-1]} has no checkpoint.")
        learner, frame = ActiveLearner.load(found[-1]), Frame.read(found[-1])
    except (UserError, OSError, ValueError, KeyError):
        log.exception("%s cannot be read; a new chapter learns its labels again.", found[-1].name)
        return None
    return Chapter(found[-1], frame, learner, count_rounds(read_chapters(found[:-1])))


def begin(runs: Path, frame: Frame, learner: ActiveLearner) -> Chapter:
    """A chapter after all others, which is on disk once it has learnt something."""
    found = chapter_folders(runs)
    number = int(found[-1].name) + 1 if found else 1
    return Chapter(runs / f"{number:03d}", frame, learner, count_rounds(read_chapters(found)))


def go_on(last: Chapter, runs: Path, frame: Frame, learner: ActiveLearner) -> Chapter:
    """A chapter in the place of the last one: with its rounds and weights, and other classes or texts."""
    was, now = (
        dict(zip(numbers, task.classes, strict=True))
        for numbers, task in (
            (last.frame.classes, last.learner.experiment.task),
            (frame.classes, learner.experiment.task),
        )
    )
    transfer_learner(last.learner, learner, {name: was[number] for number, name in now.items() if number in was})
    begun = begin(runs, frame, learner)
    return Chapter(begun.folder, frame, learner, last.before, replaces=last.folder)


def write_model(chapter: Chapter, classes: Sequence[str], target: Path) -> None:
    """The model answers in the names that the classes have now, not in those of the chapter's beginning."""
    model, learner = chapter.model, chapter.learner
    # The classifier is written under its own names where it is pooled, and under those of its config otherwise.
    model.classifier.classes = tuple(classes)
    config = model.classifier.module.config
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: index for index, name in enumerate(classes)}
    task = replace(learner.experiment.task, classes=tuple(classes))
    export_model(model.classifier, model.encoder, task, learner.settings, learner.history[-1], target)
