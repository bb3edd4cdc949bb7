"""Active learning with a transformer."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import ACQUISITIONS, Acquisition, check_objective
from hybridal.backbones import candidate_names, with_candidates
from hybridal.core.observer import LoggingObserver, Observer
from hybridal.core.outputs import UNKNOWN, Floats
from hybridal.core.rounds import Chosen, Cost, Round
from hybridal.errors import RunError, UserError
from hybridal.learners.estimated_texts import EstimatedTexts, described, estimated_texts
from hybridal.learners.learner import Learner, check_keywords, listed
from hybridal.learners.run_predictions import TransformerPredictor
from hybridal.learners.text_classifier import TextClassifier, TrainedParts, fitted
from hybridal.measures.evidence import Evidence
from hybridal.measures.occlusion import Occlusion
from hybridal.measures.recall_sample import RecallSample
from hybridal.measures.selective import CONFIDENCE, Promise
from hybridal.measures.shares.share_table import Progress, no_progress
from hybridal.models.model_protocol import TimedCandidates
from hybridal.runs import checkpoint
from hybridal.runs.assemble import build_experiment, build_loop_model, check_signals, surroundings
from hybridal.runs.export import export_model, labelled, labels_csv
from hybridal.runs.record import RunFolder, describe_run
from hybridal.runs.settings import USE_ALL_VALIDATION, Settings, default_acquisition
from hybridal.schedules import Schedule, make_schedule, spec_of
from hybridal.signals import SIGNALS, Signal
from hybridal.system.files import usable_path, write_whole
from hybridal.tasks import Task, load_task
from hybridal.tasks.answers import Answer
from hybridal.tasks.file_formats import read_csv
from hybridal.tasks.label_cells import CellReader
from hybridal.trackers import TRACKERS, Tracker, Tracking

if TYPE_CHECKING:
    from hybridal.models.transformer import TransformerModel


class ActiveLearner(Learner):
    """A transformer that is trained on labels batch by batch, and chooses the texts to label next.

    The model is evaluated on labelled validation texts of the task. If there are none, a share of the labels is used:
    some texts of a query are drawn at random and come first. With `validation="fixed"`, validation texts without labels
    are queried before all others.

    Args:
        task: A task (see `load_task`), or the name or path of one.
        backbone: Name, folder or hub id of the pretrained encoder (see `hybridal list backbones`); "auto" lets the
            labels choose among those available by default, `auto:minilm,my-folder` among these. On a processor
            "minilm" takes half the time.
        schedule: Decides in each round whether to retrain or to fine-tune; see `hybridal list schedules`.
        protocol: "best", "paper", "reference" or "quick".
        acquisition: Chooses the texts to label; None takes the one of the protocol.
        signals: Additional signals to record.
        seed: Seed of all random choices.
        device: "auto", "cpu", "cuda", "cuda:N" or "mps".
        observer: Receives progress; can be replaced at any time. By default progress is logged.
        tracker: "mlflow", "tensorboard" or an object; gets the metrics of each round.
        overrides: Fields of the protocol, such as `learning_rate=5e-5`.

    Raises:
        UserError: If an argument is invalid, or a signal needs validation texts that the task does not have.

    Example:
        >>> from hybridal.testing.small import toy_task
        >>> learner = ActiveLearner(toy_task(), backbone="tiny", protocol="quick", schedule="retrain", device="cpu")
        >>> batch = learner.query(4)
        >>> result = learner.teach(batch, ["food", "sport", "food", "sport"])
        >>> len(batch), result.labels, result.update
        (4, 4, 'retrain')
    """

    def __init__(
        self,
        task: Task | str | Path,
        backbone: str | Path = "auto",
        schedule: Schedule | str = "auto",
        protocol: str = "best",
        acquisition: Acquisition | str | None = None,
        signals: Sequence[Signal | str] = (),
        seed: int = 42,
        device: str = "auto",
        observer: Observer | None = None,
        tracker: Tracker | str | None = None,
        **overrides: Any,
    ) -> None:
        check_keywords(ActiveLearner, overrides)
        self._tracker = TRACKERS.make(tracker) if isinstance(tracker, str) else tracker
        task = _task(task)
        if isinstance(signals, str):
            raise UserError(f"`signals` is the text '{signals:.40}'; give a list, such as ['{signals:.40}'].")
        if observer is not None and not hasattr(observer, "round_started"):
            raise UserError(f"`observer` is {observer!r:.60}; give an object of a subclass of `hybridal.Observer`.")
        if (task.validation.labels != UNKNOWN).any():
            overrides = {**USE_ALL_VALIDATION, **overrides}
        schedule = make_schedule(schedule) if isinstance(schedule, str) else schedule
        if acquisition is None:
            acquisition = default_acquisition(protocol)
        chosen = ACQUISITIONS.make(acquisition) if isinstance(acquisition, str) else acquisition
        check_objective(chosen, task.multi_label)
        asked = [SIGNALS.make(signal) if isinstance(signal, str) else signal for signal in signals]
        observer = observer or LoggingObserver()
        self.settings = Settings(
            task=task.name,
            backbone=with_candidates(str(backbone), task, observer.message),
            schedule=spec_of(schedule),
            protocol=protocol,
            acquisition=acquisition if isinstance(acquisition, str) else ACQUISITIONS.spec_of(acquisition),
            signals=tuple(s if isinstance(s, str) else SIGNALS.spec_of(s) for s in signals),
            seed=seed,
            device=device,
            overrides=overrides,
            tracker=tracker if isinstance(tracker, str) else None,
        )
        task = task if self.settings.rules.validation == "fixed" else task.merged()
        watching = tuple({signal.name: signal for signal in (*asked, *schedule.watches)}.values())
        check_signals(watching, self.settings.rules, task, len(task.validation))
        self._model = build_loop_model(self.settings, task, watching, observer)
        experiment = replace(build_experiment(self.settings, task, self._model, watching), acquisition=chosen)
        super().__init__(experiment, schedule, observer)
        self._key = uuid.uuid4().hex
        self._given: tuple[int, TextClassifier] | None = None
        self._validation_labels = task.validation.labels.copy()
        self._validation_rows = {id: row for row, id in enumerate(task.validation.ids)}

    @property
    def transformer(self) -> TransformerModel:
        """The model of the encoder in use."""
        return self._model.current

    @property
    def backbone(self) -> str:
        """The pretrained encoder in use: with `backbone="auto"`, the one that was chosen last.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> ActiveLearner(toy_task(), "tiny", protocol="quick", device="cpu").backbone
            'tiny'
        """
        choice = self._state.encoder
        return candidate_names(self.settings.backbone)[0] if choice is None else choice.backbone

    @property
    def observer(self) -> Observer:
        """Receives progress; can be replaced."""
        return self._model.observer

    @observer.setter
    def observer(self, observer: Observer) -> None:
        self._model.observer = observer

    @property
    def validation_labels(self) -> dict[Any, Any]:
        """Labels of validation texts, by id; with `labels`, these are all labels.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> len(learner.validation_labels), len(learner.labels)
            (40, 0)
        """
        task, rows = self.experiment.task, labelled(self._labelled(), self._state.pool)["validation"]
        return {task.id(id): task.label(number) for id, number in zip(rows.ids, rows.labels, strict=True)}

    def _choose(self, n: int) -> tuple[list[str], TimedCandidates | None]:
        """Choose validation texts without a label first."""
        missing = np.flatnonzero(self._validation_labels == UNKNOWN).tolist()
        if self.history or not missing:
            return super()._choose(n)
        return [self.experiment.task.validation.ids[row] for row in missing[:n]], None

    def _why_fewer(self, ids: Sequence[str], asked: int) -> str:
        if ids and ids[0] in self._validation_rows and len(ids) < asked:
            return f"{asked} were requested; validation texts come first, the others follow once these are labelled"
        return super()._why_fewer(ids, asked)

    def _split_validation(self, labels: Mapping[str, Answer]) -> tuple[Mapping[str, Answer], Mapping[str, Answer]]:
        measured = {id: name for id, name in labels.items() if id in self._validation_rows}
        return {id: name for id, name in labels.items() if id not in measured}, measured

    def _known(self, id: str) -> Answer | None:
        if id not in self._validation_rows:
            return super()._known(id)
        number = self._validation_labels[self._validation_rows[id]]
        return self.experiment.task.answer(number) if number >= 0 else None

    def _store_validation(self, labels: Mapping[str, Answer]) -> None:
        number = self.experiment.task.label_number
        numbers = {self._validation_rows[id]: number(answer) for id, answer in labels.items()}
        if numbers:
            self._validation_labels[[*numbers]] = [*numbers.values()]
            self._model.relabel_validation(self._validation_labels)

    def withdraw(self, ids: Iterable[Any], by: Literal["people", "model"] = "people") -> None:
        """Remove labels, also of validation texts; see `Learner.withdraw`.

        Args:
            ids: Ids of labelled texts.
            by: With "model", what a model answered is forgotten, and people's labels stay.

        Raises:
            UserError: If an id is unknown.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> learner.withdraw(["validation-0"])
            >>> len(learner.validation_labels)
            39
        """
        given = listed(ids, "withdraw")
        super().withdraw((id for id in given if id not in self._validation_rows), by)
        measured = [self._validation_rows[id] for id in given if id in self._validation_rows]
        if measured and by == "people":
            self._validation_labels[measured] = UNKNOWN
            self._model.relabel_validation(self._validation_labels)

    def _learn(self, last: bool) -> Round:
        round_record = super()._learn(last)
        if self._tracking is not None:
            self._tracking.offer(self.history)
        return round_record

    @cached_property
    def _tracking(self) -> Tracking | None:
        if (tracker := self._tracker) is None:
            return None
        return Tracking(lambda: tracker, self._key, self.experiment.task.name, self._about(), self.observer.message)

    @property
    def _before_learning(self) -> str:
        if not self.transformer.has_class_descriptions:
            return super()._before_learning
        return "no label learnt yet: predicts from class names and descriptions alone"

    def _about(self) -> dict[str, Any]:
        """Return the content of `run.json`."""
        return describe_run(self.settings, self.experiment.task, self._origin())

    def _origin(self) -> dict[str, Any]:
        """Return the key of this learner and its environment; the key distinguishes the folder from that of a run."""
        return {"key": self._key, **surroundings(self.settings.device, self.settings.rules)}

    @property
    def model(self) -> TextClassifier:
        """A copy of the current classifier; later updates of the learner do not change it.

        Before the first update it is fitted to class names and descriptions alone, and its `labels_learnt` is 0. The
        protocol must use them (`best` does), and each class must have one: `sport` says something, `2` does not.

        Raises:
            UserError: If nothing has been learnt yet and the classes cannot be told apart by names or descriptions.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.model.predict(["the team and the coach"]).shape
            (1,)
        """
        if self._given is None or self._given[0] != len(self.history):
            model, probe = self.transformer, None if self.history else self.transformer.description_probe
            weights = self._state.weights if probe is None else model.classifier.with_head(model.pretrained, probe)
            if weights is None:
                raise UserError("The model has not learnt anything yet; teach it first.")
            twin = model.classifier.clone()
            twin.load(weights)
            self._given = len(self.history), self._asked(twin)
        return self._given[1]

    @property
    def _current(self) -> TextClassifier:
        """The classifier of the last update without a copy; before the first update, that without labels."""
        return self._asked(self.transformer.classifier) if self.history else self.model

    def _asked(self, classifier: Any) -> TextClassifier:
        """Wrap a classifier with the weights of the last update."""
        task, settings, encoder = self.experiment.task, self.settings, self.transformer.encoder
        # Thresholds are those of the round, unless classes were added since.
        round_record = (
            replace(self.history[-1], thresholds=self._state.thresholds) if self.history else self._without_labels()
        )
        labels = tuple(task.class_labels)
        random = self.transformer.random_labels(self._state.pool)

        @cache
        def evidence() -> Evidence | None:
            return random.evidence(classifier, round_record.temperature, round_record.thresholds)

        def write(target: Path) -> None:
            export_model(classifier, encoder, task, settings, round_record, target, evidence())

        return fitted(
            TrainedParts(
                classifier,
                encoder,
                labels,
                round_record.temperature or 1.0,
                write,
                round_record.thresholds,
                round_record.labels,
                evidence,
            ),
            backbone=self.backbone,
            **{name: getattr(settings, name) for name in ("protocol", "overrides", "seed", "device")},
        )

    def _without_labels(self) -> Round:
        """Describe the model before the first update, for its card; it is in no record."""
        model, objective = self.transformer, self.experiment.task.objective
        assert model.description_probe is not None
        logits = model.description_probe.logits(model.sample_features)
        thresholds = objective.thresholds(logits, 1.0, model.rules.thresholds)
        return Round(0, "", "", 0, Cost(), 0.0, None, None, None, {}, thresholds=thresholds)

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """Predict calibrated probabilities; before the first update, from class names and descriptions alone.

        Args:
            texts: The texts.

        Returns:
            An array with one row per text and one column per class of the task. Rows sum to 1 only if each text has one
            label.

        Raises:
            UserError: If there is no model yet (see `model`), or an item is not a text.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.predict_proba(["the team and the coach", "soup"]).sum(axis=1).round(4).tolist()
            [1.0, 1.0]

            With descriptions, no label is needed:

            >>> task = task.with_descriptions({"food": "soup, bread and cheese", "sport": "teams, goals and coaches"})
            >>> learner = ActiveLearner(task, "tiny", device="cpu")
            >>> learner.predict_proba(["the team and the coach", "soup"]).shape, learner.model.labels_learnt
            ((2, 2), 0)
        """
        return self._current.predict_proba(texts)

    def explain(self, text: str) -> Occlusion:
        """Show which words of a text speak for and against each class (see `TextClassifier.explain`).

        Args:
            text: The text.

        Returns:
            The spans of the words, and the weight of each word for each class of the task.

        Raises:
            UserError: If there is no model yet (see `model`), or it is not a text.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.explain("the team and the coach").weights.shape
            (5, 2)
        """
        return self._current.explain(text)

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Predict the most probable class of each text; with several labels per text, all above their thresholds.

        Args:
            texts: The texts.

        Returns:
            The classes, in the type of the labels; with several labels per text, a frozenset of classes for each text.

        Raises:
            UserError: If there is no model yet (see `model`), or an item is not a text.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.predict(["the goal of the match"])[0] in task.classes
            True
        """
        return self._current.predict(texts)

    def promise(self, max_error: float, confidence: float = CONFIDENCE) -> Promise:
        """Return from which confidence texts can be answered without a person; see `TextClassifier.promise`.

        Args:
            max_error: The highest share of answered texts that may be wrong.
            confidence: The probability that the share is not higher.

        Returns:
            The promise; its `threshold` is None if nothing can be promised.

        Raises:
            UserError: If there is no model yet, or no random label that it has not learnt.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.promise(max_error=0.02).labels
            40
        """
        return self._current.promise(max_error, confidence)

    def recall_sample(self, wanted: Any) -> RecallSample:
        """Draw a random sample of the texts that would be left out of a class, to certify that nearly all are found.

        Found are the texts that people labelled as the class and those to which the model gives it. The list of the
        others and its order are fixed now; what is labelled and learnt later does not change them.

        Args:
            wanted: The class.

        Returns:
            The sample: label `sample.take(sample.labels_needed())`, then ask for `sample.certificate(labels)`.

        Raises:
            UserError: If there is no such class, or no model yet.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids[:80]))
            >>> sample, sport = learner.recall_sample("sport"), task.answers(task.train.ids)
            >>> to_label = sample.take(sample.labels_needed(recall=0.8))
            >>> certificate = sample.certificate({id: sport[id] == "sport" for id in to_label}, recall=0.8)
            >>> certificate.sampled == len(to_label), certificate.confidence
            (True, 0.95)
        """
        from hybridal.learners.recall_sampling import recall_sample

        task = self._labelled()
        found = recall_sample(task, self._state.pool, self._current, wanted, self.settings.seed)
        return replace(found, wanted=wanted, order=tuple(map(task.id, found.order)))

    def estimated_texts(self, progress: Progress = no_progress) -> EstimatedTexts:
        """See `Learner.estimated_texts`."""
        last = self._last_round()
        return estimated_texts(
            TransformerPredictor(self.transformer, self._state.pool),
            self.experiment.task,
            self._state.pool,
            last.temperature,
            self._state.thresholds,
            described(f"encoder {self.backbone}", last),
            self._validation_labels,
            progress,
        )

    def report(self, path: str | Path) -> Path:
        """Write an HTML report of all rounds.

        Args:
            path: The file.

        Returns:
            The file.

        Raises:
            UserError: If the path is a folder.

        Example:
            >>> import tempfile
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.report(Path(tempfile.mkdtemp()) / "report.html").name
            'report.html'
        """
        from hybridal.reports.run_report import write_run

        path = usable_path(path)
        if path.is_dir():
            raise UserError(f"{path} is a folder; name a file in it, such as '{path / 'report.html'}'.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return write_run(self.history, self.schedule, self._about(), path, self._left)
        except OSError as error:
            raise UserError(f"The report {path} cannot be written ({error.strerror}); choose another path.") from error

    def push_labels_to_hub(self, repo: str, private: bool = True, token: str | None = None) -> str:
        """Upload the labelled texts to the Hugging Face hub, as a dataset with a card.

        Args:
            repo: Repository, as `you/name`.
            private: Whether a new repository is private.
            token: Access token; by default the one of `hf auth login` or HF_TOKEN.

        Returns:
            The address of the dataset; `load_dataset(repo)` loads it.

        Raises:
            UserError: If there are no labels or no token, or the upload fails.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.push_labels_to_hub("you/labels")  # doctest: +SKIP
            'https://huggingface.co/datasets/you/labels'
        """
        from hybridal.runs.hub_push import push_labels

        return push_labels(self._labelled(), self._state.pool, self.settings, self.history, repo, private, token)

    def save(self, path: str | Path) -> Path:
        """Save the learner to a run folder, for `ActiveLearner.load` and `hybridal report`.

        Saving to the same folder again adds the new rounds. `labels.csv` has all labels, including those of validation
        texts. Lines of `rounds.jsonl` are never rewritten: a query that follows a saved round adds its own line.

        Args:
            path: A new folder, or the one to which this learner was saved before.

        Returns:
            The folder.

        Raises:
            UserError: If the folder belongs to another run, or cannot be written.

        Example:
            >>> import tempfile
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> folder = learner.save(Path(tempfile.mkdtemp()) / "learner")
            >>> sorted(path.name for path in folder.iterdir() if path.is_file())
            ['labels.csv', 'rounds.jsonl', 'run.json', 'run.lock']
        """
        folder = RunFolder(path := usable_path(path))
        if not (path / "run.json").exists():
            if (path / "labels.csv").exists():
                raise UserError(
                    f"{path} has a 'labels.csv' of something else; save this learner to a folder of its own."
                )
            RunFolder.create(path, self.settings, self.experiment.task, self._origin())
        elif folder.about().get("key") != self._key:
            raise UserError(f"{path} holds another run; save this learner to a folder of its own.")
        with folder.locked():
            recorded, history = folder.history(), self.history
            if [*map(_without_query, recorded)] != [*map(_without_query, history[: len(recorded)])]:
                raise UserError(f"{path} has gone on without this learner; save it to a folder of its own.")
            write_whole(path / "labels.csv", labels_csv(self._labelled(), self._state.pool))
            for before, now in zip(recorded, history, strict=False):
                if now.round in self._acquired and _chosen(before) != _chosen(now):
                    folder.append(self._acquired[now.round])
            checkpoint.save(folder.checkpoint, self._state, history[-1] if history else None)
            for round_record in history[len(recorded) :]:
                folder.append(round_record)
        return path

    @classmethod
    def load(
        cls,
        path: str | Path,
        observer: Observer | None = None,
        tracker: Tracker | str | None = None,
        device: str | None = None,
    ) -> ActiveLearner:
        """Load a learner that `save` wrote.

        Args:
            path: The folder.
            observer: Receives progress; by default it is logged.
            tracker: Another tracker; by default the saved one, if it was given by name.
            device: Another device; by default the saved one.

        Returns:
            The learner, in the state in which it was saved.

        Raises:
            UserError: If no `ActiveLearner` saved the folder, or an unpublished version wrote it.
            RunError: If a file is damaged.

        Example:
            >>> import tempfile
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> folder = learner.save(Path(tempfile.mkdtemp()) / "learner")
            >>> ActiveLearner.load(folder).labels == learner.labels
            True
        """
        folder = RunFolder.open(usable_path(path))
        if "key" not in folder.about():
            raise UserError(f"{path} was not saved by an ActiveLearner; go on with `hybridal resume {path}`.")
        settings = folder.settings()
        learner = cls(
            folder.task(),
            backbone=settings.backbone,
            schedule=settings.schedule,
            protocol=settings.protocol,
            acquisition=settings.acquisition_spec,
            signals=settings.signals,
            seed=settings.seed,
            device=device or settings.device,
            observer=observer,
            tracker=tracker or settings.tracker,
            **settings.overrides,
        )
        learner._restore(folder)
        return learner

    def _restore(self, folder: RunFolder) -> None:
        self._key = folder.about()["key"]
        saved = checkpoint.load(folder.checkpoint, self.experiment.task.label_sets)
        state, history = self._state, folder.history()
        if saved is not None:
            state, round_record = saved
            if round_record is not None:
                # The record of the last round may have been cut off; the checkpoint also has what was chosen after it.
                history[round_record.round - 1 :] = [round_record]
            if len(history) != state.round:
                raise RunError(
                    f"{folder.rounds.path} has {len(history)} rounds, but the checkpoint is of round "
                    f"{state.round}; restore the file, or teach a new learner the labels of labels.csv."
                )
        to_device = self._model.to_device
        self.continue_from(replace(state, weights=to_device(state.weights), moments=to_device(state.moments)), history)
        pieces = [piece.columns for piece in read_csv(folder.path / "labels.csv", ["id", "label"])]
        written = {id: label for piece in pieces for id, label in zip(piece["id"], piece["label"], strict=True)}
        cells = CellReader(self.experiment.task.classes, self.experiment.task.multi_label)
        given = {id: cells.read(label) for id, label in written.items() if id in self._validation_rows}
        self.withdraw(id for id in self._validation_rows if id not in given)
        self.teach(given, update=False)

    def _labelled(self) -> Task:
        """Return the task with the current labels of the validation texts."""
        task = self.experiment.task
        return replace(task, validation=replace(task.validation, labels=self._validation_labels))


def _task(given: Any) -> Task:
    if isinstance(given, Task):
        return given
    if isinstance(given, str | Path):
        return load_task(given)
    raise UserError(f"Expected a Task, got a {type(given).__name__}; use Task.from_pandas or Task.from_texts.")


def _without_query(round_record: Round) -> Round:
    """Return a record without the later query and the timings."""
    return replace(round_record.completed(Chosen(round_record.round)), seconds={})


def _chosen(round_record: Round) -> tuple[Any, ...]:
    return round_record.acquired, round_record.scores, round_record.held
