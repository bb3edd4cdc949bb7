"""A chapter of a project's model: consecutive rounds of one learner, in one run folder.

Other classes, texts or settings of the model begin a new chapter; it may continue with the weights of the previous one.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.app.labelling.stored_class_sets import Label
from hybridal.app.project import CHAPTER_FILE, Project, chapter_folders, count_rounds, read_chapters
from hybridal.app.project_settings import first_batch
from hybridal.app.trainer.learner_labels import to_names, to_numbers
from hybridal.app.trainer.snapshot import Snapshot
from hybridal.app.trainer.stored_predictions import ScoredTexts
from hybridal.core.observer import Observer
from hybridal.core.outputs import Floats
from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.learners.active_learner import ActiveLearner
from hybridal.learners.transfer import transfer_learner
from hybridal.runs.export import export_model
from hybridal.system.files import folder_made_whole, remove_folder, strict_json

if TYPE_CHECKING:
    from hybridal.models.training.probe import Probe
    from hybridal.models.transformer import TransformerModel

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelSpec:
    """What a chapter's model is built for; another specification needs another chapter.

    Class names are not part of it: a renamed class is the same class.

    Attributes:
        classes: Class numbers of the database, in the order of the model's outputs.
        reserve: How many texts are set aside for validation.
        options: The settings that shape the model.
    """

    classes: tuple[int, ...]
    reserve: int
    options: Mapping[str, Any]

    @classmethod
    def of(cls, snapshot: Snapshot, project: Project) -> ModelSpec:
        return cls(tuple(snapshot.classes), snapshot.reserve, model_options(project))

    @classmethod
    def read(cls, folder: Path) -> ModelSpec:
        fields = json.loads((folder / CHAPTER_FILE).read_text(encoding="utf-8"))
        return cls(tuple(fields["classes"]), fields["reserve"], fields["options"])

    def write(self, folder: Path, replaces: str | None = None) -> None:
        fields = {**asdict(self), "replaces": replaces}
        (folder / CHAPTER_FILE).write_text(strict_json(fields, indent=2) + "\n", encoding="utf-8")


def model_options(project: Project) -> dict[str, Any]:
    """Return the settings that shape a model; all others, and the device, may change within a chapter."""
    names = ("backbone", "schedule", "protocol", "overrides", "acquisition", "seed")
    return {name: project.setting(name) for name in names}


def learner_options(project: Project) -> dict[str, Any]:
    """Return the keyword arguments of a project's `ActiveLearner`.

    Candidates are ranked by calibrated probabilities because the app shows them. `validation` is always fixed: the app
    sets validation texts aside itself, and a protocol that validates on a share of the labels would train on them.
    """
    options = model_options(project)
    batch, rules = int(project.setting("batch")), dict(options.pop("overrides"))
    candidates = rules.pop("candidates", 1000)
    return {
        **options,
        "device": project.setting("device"),
        "batch": batch,
        "initial": first_batch(project.settings()),
        "rounds": max(1, math.ceil(int(project.setting("budget")) / batch)),
        "candidates": candidates and max(int(candidates), 4 * batch),
        "calibrate": True,
        "validation": "fixed",
        **rules,
    }


class Chapter:
    """Rounds over one set of classes and texts.

    The learner knows classes by the names that they had when the chapter began; the app knows them by number.

    Attributes:
        folder: The run folder; it is created with the first round.
        spec: What the model is built for.
        learner: Trains, predicts and chooses texts.
        earlier_rounds: How many rounds the earlier chapters have.
        replaces: The folder of the chapter whose rounds this one continues; it is removed by the first save.
    """

    def __init__(
        self, folder: Path, spec: ModelSpec, learner: ActiveLearner, earlier_rounds: int, replaces: Path | None = None
    ) -> None:
        self.folder, self.spec, self.learner = folder, spec, learner
        self.earlier_rounds, self.replaces = earlier_rounds, replaces

    @cached_property
    def class_names(self) -> dict[int, str]:
        """The name of each class number, as the learner knows it."""
        return dict(zip(self.spec.classes, self.learner.experiment.task.classes, strict=True))

    @property
    def round(self) -> int:
        """How many rounds the project has, including those of earlier chapters."""
        return self.earlier_rounds + len(self.learner.history)

    @property
    def model(self) -> TransformerModel:
        return self.learner.transformer

    @property
    def is_finished(self) -> bool:
        """Whether the last round was a final one, on all labels, and no label has changed since."""
        learnt = self.learner.history[-1].label_changes if self.learner.history else None
        now = self.learner.label_changes
        return bool(learnt and learnt.last) and not (now.added or now.corrected or now.withdrawn)

    def learnt(self) -> dict[str, Label]:
        """The label of each pool text that the model has learnt."""
        numbers = {name: number for number, name in self.class_names.items()}
        return {id: to_numbers(label, numbers) for id, label in self.learner.labels.items()}

    def covers_texts(self, snapshot: Snapshot) -> bool:
        """Whether the chapter has all texts of the snapshot; it may have others, which were deleted."""
        task = self.learner.experiment.task
        return len({*task.train.ids, *task.validation.ids} - snapshot.deleted) == snapshot.texts

    def has_same_classes(self, snapshot: Snapshot) -> bool:
        """Whether class names and descriptions are unchanged, or the model does not learn from them."""
        return not self.learner.experiment.rules.use_class_descriptions or (
            self.class_names == {**snapshot.classes}
            and self.learner.experiment.task.descriptions == snapshot.descriptions_by_name
        )

    def reuse_features(self, previous: Chapter) -> None:
        """Copy the features that the previous chapter has computed, if both use the same pretrained encoder."""
        if self.learner.backbone != previous.learner.backbone:
            return
        old, new = previous.learner.experiment.task.train, self.learner.experiment.task.train
        old_rows = {pair: row for row, pair in enumerate(zip(old.ids, old.texts, strict=True))}
        pairs = enumerate(zip(new.ids, new.texts, strict=True))
        self.model.reuse_features(previous.model, {row: old_rows[pair] for row, pair in pairs if pair in old_rows})

    def sync_labels(self, snapshot: Snapshot) -> None:
        """Give the learner the labels of the snapshot, including corrected and withdrawn ones, and who gave them."""
        learner, task, names = self.learner, self.learner.experiment.task, self.class_names
        ids = task.train.ids
        there = {*ids, *task.validation.ids}

        def named(labels: Mapping[str, Label]) -> dict[str, Any]:
            # A text that was added after the chapter began waits for the next chapter.
            return {id: to_names(label, names) for id, label in labels.items() if id in there}

        people, model = named({**snapshot.by_people, **snapshot.validation}), named(snapshot.model_answers)
        learner.leave_out((snapshot.deleted | snapshot.left_out) & {*ids})
        answered = np.flatnonzero(learner.pool.model_labels >= 0).tolist()
        learner.withdraw([ids[row] for row in answered if ids[row] not in model], by="model")
        learnt, by_model = learner.labels, {ids[row] for row in learner.pool.by_model}
        of_people = [id for id in learnt if id not in by_model]
        learner.withdraw([id for id in (*of_people, *task.validation.ids) if id not in people])
        new = {id: label for id, label in people.items() if learnt.get(id) != label or id in by_model}
        learner.teach(new, update=False)
        learner.teach(model, update=False, by="model")

    def learn(self, observer: Observer, last: bool = False) -> Round:
        """Train one round; the `last` one, before the model is used, trains on all labels."""
        self.learner.observer = observer
        return self.learner.finish() if last else self.learner.update()

    def examples(self) -> int:
        """How many examples the next update would train on, summed over its epochs."""
        rules, label_changes = self.learner.experiment.rules, self.learner.label_changes
        labels = len(self.learner.labels)
        if labels < rules.probe_until:
            return 0
        update = self.learner.next_update
        some = min(labels, 2 * (label_changes.added + label_changes.corrected))
        seen = {"retrain": labels, "finetune": labels, "refit": 0}.get(update.name, some)
        seen += len(self.model.named) if seen else 0
        return seen * rules.epochs(seen, asked=getattr(update, "epochs", None))

    def choose(self, n: int) -> tuple[list[str], list[ScoredTexts]]:
        """Choose the ids to label next, best first; the second value has the predictions for the candidates, if any."""
        batch = self.learner.query(n)
        seen = batch.candidates
        return batch.ids, [] if seen is None else [self._scored(seen.ids, seen.probabilities())]

    def predict(self, ids: Iterable[str]) -> ScoredTexts:
        """Predict the classes of these texts."""
        asked = set(ids)
        splits = (self.learner.experiment.task.train, self.learner.experiment.task.validation)
        texts = {id: text for s in splits for id, text in zip(s.ids, s.texts, strict=True) if id in asked}
        return self._scored([*texts], self.learner.predict_proba([*texts.values()]))

    def score(self, ids: Sequence[str], logits: Floats) -> ScoredTexts:
        """Make predictions of the model's logits for these texts."""
        return self._scored(ids, self.learner.experiment.task.objective.probabilities(logits, self.temperature))

    def _scored(self, ids: Sequence[str], probabilities: Floats) -> ScoredTexts:
        return ScoredTexts(ids, probabilities, self.spec.classes, self.learner.state.thresholds)

    def known_features(self, ids: Iterable[str]) -> dict[str, Floats]:
        """The features of those texts that this process has computed with the pretrained encoder."""
        found = {id: self.model.features.known(self._rows[id]) for id in ids if id in self._rows}
        return {id: features for id, features in found.items() if features is not None}

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {id: row for row, id in enumerate(self.learner.experiment.task.train.ids)}

    def probe(self) -> Probe | None:
        """The model as a probe on the pretrained encoder; None once the encoder is trained."""
        return self.model.as_probe(self.learner.pool)

    @property
    def encoder_key(self) -> tuple[Any, ...]:
        """Identifies the state of the encoder: it changes with each training, not when only the head is fitted."""
        return (
            self.learner,
            self.learner.backbone,
            max((record.round for record in self.learner.history if record.cost.steps), default=0),
        )

    @property
    def temperature(self) -> float:
        return self.learner.history[-1].temperature or 1.0

    @property
    def feature_settings(self) -> dict[str, Any]:
        """The settings that the features of the pretrained encoder depend on."""
        rules = self.learner.experiment.rules
        return {"backbone": self.learner.backbone, "tokens": rules.max_length, "pooling": rules.pooling}

    def save(self) -> None:
        """Write what is new. The folder is created atomically, with the first round."""
        if self.folder.exists():
            self.learner.save(self.folder)
            return
        with folder_made_whole(self.folder) as scratch:
            self.learner.save(scratch)
            self.spec.write(scratch, None if self.replaces is None else self.replaces.name)
        if self.replaces is not None:
            remove_folder(self.replaces)


def newest(runs: Path) -> Chapter | None:
    """Load the newest chapter; None if there is none that can be read, and a new one has to learn all labels."""
    found = chapter_folders(runs)
    if not found:
        return None
    try:
        return load(found)
    except (UserError, OSError, ValueError, KeyError):
        log.exception("%s cannot be read; a new chapter learns its labels again.", found[-1].name)
        return None


def load(found: Sequence[Path]) -> Chapter:
    """Load the last of these chapters.

    Raises:
        UserError: A file of it is missing or damaged; other errors if something else has written there.
    """
    if not any((found[-1] / "checkpoint").glob("round-*.safetensors")):
        raise UserError(f"{found[-1]} has no checkpoint.")
    learner, spec = ActiveLearner.load(found[-1]), ModelSpec.read(found[-1])
    return Chapter(found[-1], spec, learner, count_rounds(read_chapters(found[:-1])))


def begin(runs: Path, spec: ModelSpec, learner: ActiveLearner) -> Chapter:
    """Begin a chapter after all others; nothing is written before its first round is saved."""
    found = chapter_folders(runs)
    number = int(found[-1].name) + 1 if found else 1
    return Chapter(runs / f"{number:03d}", spec, learner, count_rounds(read_chapters(found)))


def continue_with(previous: Chapter, runs: Path, spec: ModelSpec, learner: ActiveLearner) -> Chapter:
    """Begin a chapter that continues the rounds and weights of the previous one, with other classes or texts."""
    folder = begin(runs, spec, learner).folder
    chapter = Chapter(folder, spec, learner, previous.earlier_rounds, replaces=previous.folder)
    old, new = previous.class_names, chapter.class_names
    transfer_learner(previous.learner, learner, {name: old[number] for number, name in new.items() if number in old})
    return chapter


def write_model(chapter: Chapter, classes: Sequence[str], target: Path) -> None:
    """Export the model under the current class names, which may differ from those that the chapter began with."""
    model, learner, last = chapter.model, chapter.learner, chapter.learner.history[-1]
    task = replace(learner.experiment.task, classes=tuple(classes))
    evidence = model.random_labels(learner.pool).evidence(model.classifier, last.temperature, last.thresholds)
    classifier = model.classifier.with_class_names(task.classes)
    export_model(classifier, model.encoder, task, learner.settings, last, target, evidence)
