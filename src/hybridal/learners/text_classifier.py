"""A trained text classifier, which is also a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hybridal.backbones import Backbone
from hybridal.backbones.exported import ABOUT, read_about
from hybridal.core.outputs import UNKNOWN, Floats
from hybridal.core.rules import protocol as rules_of
from hybridal.errors import UserError, reason
from hybridal.learners.label_matrix import LabelMatrix, as_sets
from hybridal.measures.calibration import softmax
from hybridal.measures.evidence import Evidence, answer_confidence
from hybridal.measures.multi_label import sigmoid
from hybridal.measures.occlusion import MAX_PARTS, Occlusion, occlusion, prefix_with_same_tokens
from hybridal.measures.selective import CONFIDENCE, Flags, Promise
from hybridal.measures.shift import RandomSample, Shift
from hybridal.models.token_arrays import CHUNK, Tokens
from hybridal.randomness import check_seed
from hybridal.runs.export import MULTI_LABEL, model_folder, read_evidence, write_model
from hybridal.system.background_imports import import_in_thread
from hybridal.system.files import read_object, usable_path
from hybridal.system.scratch import scratch
from hybridal.tasks.label_values import as_type
from hybridal.tasks.single import ONE_TEXT, is_several
from hybridal.tasks.splits import validation_size
from hybridal.tasks.store import TYPES
from hybridal.tasks.task import Task


@dataclass(frozen=True)
class TrainedParts:
    """The parts of a trained classifier; `write` saves it to a folder.

    Attributes:
        classifier: The network.
        encoder: Its tokenizer.
        classes: The classes, in the type of the labels.
        temperature: Divides the logits.
        write: Saves the model to a folder.
        thresholds: With several labels per text: the probability from which each class is given.
        labels_learnt: How many labels it has learnt; None if unknown.
        evidence: Returns how it answers random labels that it has not learnt; None if there are none.
    """

    classifier: Any
    encoder: Any
    classes: tuple[Any, ...]
    temperature: float
    write: Callable[[Path], None]
    thresholds: tuple[float, ...] = ()
    labels_learnt: int | None = None
    evidence: Callable[[], Evidence | None] = lambda: None


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier: `learner.model`, a loaded folder, or an estimator to fit.

    If all texts have labels, use it like any estimator of scikit-learn, in pipelines, `cross_val_score` and searches.
    `fit` is one round of an `ActiveLearner` that retrains. If labels are an indicator matrix or a set of classes per
    text, a text may have several labels, or none; predictions then have the same form.

    Args:
        backbone: Name, folder or hub id of the pretrained encoder; "auto" lets the labels choose. On a
            processor "minilm" takes half the time.
        protocol: "best", "paper", "reference" or "quick".
        overrides: Fields of the protocol to change.
        seed: Seed of all random choices.
        device: "auto", "cpu", "cuda", "cuda:N" or "mps".

    Example:
        >>> from hybridal.testing.small import toy_task
        >>> rows = toy_task().train
        >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
        >>> model.predict(["the team and the coach"]).shape, model.classes
        ((1,), (0, 1))
    """

    _learnt: TrainedParts | None = None
    _gives_matrix: bool = False

    def __init__(
        self,
        backbone: str = "auto",
        protocol: str = "best",
        overrides: Mapping[str, Any] | None = None,
        seed: int = 42,
        device: str = "auto",
    ) -> None:
        self.backbone = backbone
        self.protocol = protocol
        self.overrides = overrides
        self.seed = seed
        self.device = device

    def fit(self, X: Iterable[str], y: Iterable[Any], **others: Any) -> TextClassifier:
        """Train on labelled texts; the protocol decides how many are set aside for validation.

        Args:
            X: The texts.
            y: One label per text; or an indicator matrix (texts × classes), or a set of classes per text.
            others: Not supported; `sample_weight`, for example, is refused.

        Returns:
            The fitted classifier itself.

        Raises:
            UserError: If an item is not a text, or a label is missing.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> model.classes
            (0, 1)

            If a text may have several labels, give a set for each:

            >>> from hybridal.testing.small import multi_label_task
            >>> task = multi_label_task()
            >>> topics = list(task.answers(task.train.ids).values())
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(task.train.texts, topics)
            >>> type(model.predict(["the team and the coach"])[0]), model.classes
            (<class 'frozenset'>, ('food', 'space', 'sport'))
        """
        if others:
            raise UserError(f"fit takes texts and labels and no `{next(iter(others))}`: all texts count alike.")
        from hybridal.learners.active_learner import ActiveLearner

        check_seed(self.seed, "seed")
        texts, rules = _column(X, "X"), rules_of(self.protocol, self.overrides or {})
        labels = y if hasattr(y, "__len__") or not isinstance(y, Iterable) else [*y]
        matrix = LabelMatrix.of(labels) if isinstance(labels, Iterable) else None
        held = None if rules.validation == "fixed" else rules.validation_rows(len(texts))
        if matrix is not None:
            task = matrix.task(texts, validation_size(len(texts)) if held is None else held, self.seed)
        else:
            task = Task.from_texts(texts, _column(labels, "y"), validation_size=held, test_size=0, split_seed=self.seed)
        for _, split in task.splits():
            for id in np.array(split.ids)[split.labels == UNKNOWN]:
                raise UserError(f"y: text {id} has no label; leave it out, or teach an ActiveLearner the others.")
        learner = ActiveLearner(
            task, self.backbone, "retrain", self.protocol, seed=self.seed, device=self.device, **(self.overrides or {})
        )
        learner.teach(task.answers(task.train.ids))
        self._learnt, self._gives_matrix = learner.model._learnt, matrix is not None and matrix.is_indicator
        return self

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> TextClassifier:
        """Load a model that `save`, `hybridal export` or a run wrote.

        The temperature is part of the weights, so that transformers computes the same probabilities. A model for
        several labels per text predicts sets of classes.

        Args:
            folder: Folder of the model or of a finished run.
            device: "auto", "cpu", "cuda", "cuda:N" or "mps".

        Returns:
            The classifier.

        Raises:
            UserError: If there is no model, or a file is damaged.

        Example:
            >>> import tempfile
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> folder = model.save(Path(tempfile.mkdtemp()) / "model")
            >>> again = TextClassifier.load(folder, "cpu")
            >>> np.allclose(again.predict_proba(rows.texts[:3]), model.predict_proba(rows.texts[:3]), atol=1e-5)
            True
        """
        import_in_thread("torch", ())
        from hybridal.models.classifier import Classifier
        from hybridal.models.device import choose_device

        folder = model_folder(usable_path(folder))
        about = read_about(folder)
        backbone, names = Backbone(folder.name, folder), tuple(about["classes"])
        encoder, kind = backbone.encoder(about["max_length"]), TYPES[about.get("labels", "str")]
        encoder.encode([""])  # read the tokenizer now: the folder may be gone or replaced when `predict` is called
        thresholds = about.get("thresholds", ())
        _check_config(folder, names, thresholds)
        classifier = Classifier(backbone, names, 0, choose_device(device), pooling=about["pooling"])
        if missing := classifier.missing_weights:
            raise UserError(
                f"{folder} is damaged: it has no weights for the `{missing[0]}` of a model of {len(names)} classes; "
                "copy the folder or export the model again."
            )
        try:
            classes = tuple(as_type(kind, name) for name in names)
        except ValueError as error:
            raise UserError(
                f"{folder / ABOUT} is damaged: its classes are no {kind.__name__}s; export the model again."
            ) from error
        card = folder / "README.md"
        text, evidence = card.read_text(encoding="utf-8") if card.is_file() else "", read_evidence(folder)

        def write(target: Path) -> None:
            """Write the model from memory: its folder may be gone."""
            write_model(classifier, encoder, 1.0, about, text, target, evidence)

        learnt = about.get("labels_learnt")
        parts = TrainedParts(classifier, encoder, classes, 1.0, write, tuple(thresholds), learnt, lambda: evidence)
        return fitted(parts, device=device)

    @property
    def classes(self) -> tuple[Any, ...]:
        """Classes in the order of the columns of `predict_proba`, in the type of the labels."""
        return self._known.classes

    @property
    def classes_(self) -> NDArray[Any]:
        """`classes` as an array, for scikit-learn."""
        return np.asarray(self._known.classes)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """With several labels per text: the probability from which each class is given; else ()."""
        return self._known.thresholds

    @property
    def labels_learnt(self) -> int | None:
        """How many labels the model has learnt; 0: only class names and descriptions; None: its folder does not say."""
        return self._known.labels_learnt

    def predict_proba(self, texts: Iterable[str]) -> Floats:
        """Predict calibrated probabilities.

        Args:
            texts: The texts.

        Returns:
            An array with one row per text and one column per class, in the order of `classes`. Rows sum to 1 only if
            each text has one label.

        Raises:
            UserError: If an item is not a text.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> model.predict_proba(["the team and the coach", "soup"]).sum(axis=1).round(4).tolist()
            [1.0, 1.0]
        """
        from hybridal.models.training.forward_passes import predict

        known, texts = self._known, _column(texts, "X")
        for row, text in enumerate(texts):
            if is_several(text):
                raise UserError(f"X: number {row} is {text!r:.40}; {ONE_TEXT}")
            if not isinstance(text, str):
                raise UserError(f"X: number {row} is {text!r:.40}, not a text; leave it out or give it words.")
        found, scaled = np.empty((len(texts), len(known.classes))), sigmoid if known.thresholds else softmax
        for start in range(0, len(texts), CHUNK):
            tokens = Tokens.of(known.encoder.encode(texts[start : start + CHUNK]), known.encoder.pad)
            source = known.classifier.source(tokens)
            logits = predict(known.classifier, source, np.arange(len(tokens))).logits
            found[start : start + len(tokens)] = scaled(logits, known.temperature)
        return found

    def predict(self, texts: Iterable[str]) -> NDArray[Any]:
        """Predict the most probable class of each text; with several labels per text, all above their thresholds.

        Args:
            texts: The texts.

        Returns:
            The classes, in the type of the labels; with several labels per text an array of frozensets, or an indicator
            matrix if the model was fitted with one.

        Raises:
            UserError: If an item is not a text.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> model.predict(rows.texts).shape, model.predict(["the goal of the match"])[0] in (0, 1)
            ((120,), True)
        """
        probabilities, thresholds = self.predict_proba(texts), self.thresholds
        if not thresholds:
            found: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
            return found
        given = probabilities >= thresholds
        return given.astype(np.int64) if self._gives_matrix else as_sets(given, self.classes)

    def explain(self, text: str, max_parts: int = MAX_PARTS) -> Occlusion:
        """Show which words speak for and against each class, by leaving out one after the other.

        It costs one prediction per word, and at most `max_parts` + 1. Only the part of the text that the model reads is
        divided into words. A weight is the change of the log-odds: 0.7 doubles the odds of the class.

        Args:
            text: The text.
            max_parts: Into how many parts it is divided at most; in longer texts a part is several words.

        Returns:
            The spans of the words, and the weight of each word for each class, in the order of `classes`.

        Raises:
            UserError: If it is not a text.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> found = model.explain("the team and the coach")
            >>> len(found.spans), found.weights.shape
            (5, (5, 2))
        """
        if not isinstance(text, str):
            raise UserError(f"explain takes one text, not {text!r:.40}.")
        read = prefix_with_same_tokens(text, self._known.encoder.encode)
        return occlusion(read, self.predict_proba, max_parts)

    def promise(self, max_error: float, confidence: float = CONFIDENCE) -> Promise:
        """Return from which confidence texts can be answered without a person, with a guaranteed error.

        It is tested on random labels that the model has not learnt: validation texts. The guarantee is for new texts
        like those, and for one look: to take the first of k models that keeps it, ask for a confidence of
        `1 - (1 - confidence) / k`.

        Args:
            max_error: The highest share of answered texts that may be wrong; with several labels per text, a text is
                wrong if any of its classes is.
            confidence: The probability that the share is not higher.

        Returns:
            The promise; its `threshold` is None if nothing can be promised.

        Raises:
            UserError: If the model has no random labels, or a share is not between 0 and 1.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> found = model.promise(max_error=0.02)
            >>> found.labels, found.threshold  # 149 random labels would be the fewest
            (30, None)
        """
        return self.evidence().promise(max_error, confidence)

    def answers(self, texts: Iterable[str], max_error: float, confidence: float = CONFIDENCE) -> Flags:
        """Return which texts can be answered without a person; `predict` has the answers.

        Args:
            texts: The texts.
            max_error: The highest share of answered texts that may be wrong.
            confidence: The probability that the share is not higher.

        Returns:
            Whether each text is answered; people are asked about the others.

        Raises:
            UserError: If that cannot be promised; it says how many random labels it takes.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task(train=300).train
            >>> few_steps = {"validation_share": 0.4, "validation_size": None, "min_steps": 20, "max_epochs": 2}
            >>> model = TextClassifier("tiny", device="cpu", overrides=few_steps).fit(rows.texts, rows.labels)
            >>> model.answers(["the team and the coach", "soup"], max_error=0.05).shape
            (2,)
        """
        found = self.evidence().kept_promise(max_error, confidence)
        return found.answers(answer_confidence(self.predict_proba(texts), self.thresholds))

    def predict_sets(self, texts: Iterable[str], coverage: float = 0.95, confidence: float = CONFIDENCE) -> list[Any]:
        """Predict for each text a set of classes that contains the true one, or all true ones.

        Args:
            texts: The texts.
            coverage: The share of texts whose true classes are all in their sets.
            confidence: The probability that the share is not lower.

        Returns:
            A list of classes for each text, the most probable first.

        Raises:
            UserError: If that cannot be promised; it says how many random labels it takes.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> [len(classes) >= 1 for classes in model.predict_sets(["the team", "soup"], coverage=0.8)]
            [True, True]
        """
        rule, probabilities = self.evidence().kept_rule(coverage, confidence), self.predict_proba(texts)
        return sets_in_order(rule.sets(probabilities), probabilities, self.classes)

    def shift(self, texts: Iterable[str]) -> Shift | None:
        """Compare texts with those of the random labels: what is promised holds for texts of the same kind.

        Args:
            texts: All new texts, or a random sample of them.

        Returns:
            The clearest difference between their predictions, whose `is_likely` says whether they differ; `column` is
            the number of the class. None if there is no text, or the model was exported by an earlier version.

        Raises:
            UserError: If the model has no random labels.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> model.shift(rows.texts[:50]).is_likely, model.shift(["soup"] * 50).is_likely
            (False, True)
        """
        probabilities = self.predict_proba(texts)
        sample = RandomSample()
        sample.add(probabilities)
        return self.evidence().shift(sample.rows)

    def evidence(self) -> Evidence:
        """Return how the model predicts random labels that it has not learnt.

        Returns:
            The predictions with the labels, from which quality and selective prediction are estimated.

        Raises:
            UserError: If it has none.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> len(model.evidence())
            30
        """
        found = self._known.evidence()
        if found is None:
            raise UserError(
                "This model has no random labels that it has not learnt, so nothing can be promised of it; train it "
                "with validation texts, for example `validation=share`."
            )
        return found

    def score(self, X: Iterable[str], y: Iterable[Any], sample_weight: Sequence[float] | None = None) -> float:
        """Return the accuracy; with several labels per text, the share of texts with exactly the right set.

        Args:
            X: The texts.
            y: Their labels, in the form of `fit`.
            sample_weight: Weights of the texts.

        Returns:
            A share from 0 to 1.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> 0 < model.score(rows.texts, rows.labels) <= 1
            True
        """
        if not self.thresholds or self._gives_matrix:
            return float(super().score(X, y, sample_weight))
        right = [frozenset(labels) == given for labels, given in zip(y, self.predict(X), strict=True)]
        return float(np.average(right, weights=sample_weight))

    def save(self, folder: str | Path) -> Path:
        """Save the model to a folder that `load` and transformers read.

        Args:
            folder: A new folder, or one with an older model, which is replaced.

        Returns:
            The folder.

        Raises:
            UserError: If the folder holds other files, or cannot be written.

        Example:
            >>> import tempfile
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> folder = model.save(Path(tempfile.mkdtemp()) / "model")
            >>> sorted(path.name for path in folder.glob("*.json"))
            ['config.json', 'hybridal.json', 'random_labels.json', 'tokenizer.json', 'tokenizer_config.json']
        """
        with _writing(folder := usable_path(folder)):
            self._known.write(folder)
        return folder

    def push_to_hub(self, repo: str, private: bool = True, token: str | None = None) -> str:
        """Upload the model to the Hugging Face hub, with a card that lists the metrics.

        Args:
            repo: Repository, as `you/name`.
            private: Whether a new repository is private.
            token: Access token; by default the one of `hf auth login` or HF_TOKEN.

        Returns:
            The address of the model.

        Raises:
            UserError: If there is no token, or the upload fails.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> model.push_to_hub("you/model")  # doctest: +SKIP
            'https://huggingface.co/you/model'
        """
        from hybridal.runs.hub_push import push_model

        return push_model(self.save, repo, private, token)

    def save_onnx(self, folder: str | Path) -> Path:
        """Save the model as `model.onnx`, whose output is the calibrated probabilities, with its tokenizer.

        Args:
            folder: The folder, which is created if it does not exist.

        Returns:
            The file.

        Raises:
            UserError: If the folder cannot be written, or the ONNX packages are not installed.

        Example:
            >>> import tempfile
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> model.save_onnx(Path(tempfile.mkdtemp()) / "onnx").name  # doctest: +SKIP
            'model.onnx'
        """
        known = self._known
        with _writing(folder := usable_path(folder)):
            folder.mkdir(parents=True, exist_ok=True)
            found: Path = known.classifier.save_onnx(
                known.encoder, folder, known.temperature, thresholds=known.thresholds
            )
        return found

    @property
    def _known(self) -> TrainedParts:
        check_is_fitted(self)
        assert self._learnt is not None
        return self._learnt

    def __sklearn_is_fitted__(self) -> bool:
        return self._learnt is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    def __getstate__(self) -> Any:
        """Pickle a trained classifier as the files of its folder, which do not depend on versions and devices."""
        state = super().__getstate__()
        if self._learnt is None:
            return state
        with scratch() as place:
            folder = self.save(place / "model")
            return {**state, "_learnt": {file.name: file.read_bytes() for file in folder.iterdir()}}

    def __setstate__(self, state: Any) -> None:
        if files := state.get("_learnt"):
            with scratch() as folder:
                for name, content in files.items():
                    (folder / name).write_bytes(content)
                state = {**state, "_learnt": self.load(folder, state["device"])._learnt}
        super().__setstate__(state)


def fitted(learnt: TrainedParts, **arguments: Any) -> TextClassifier:
    """Return a fitted classifier.

    Args:
        learnt: Its trained parts.
        arguments: Those of the constructor, for fitting it again.

    Returns:
        The classifier.

    Example:
        >>> fitted(TrainedParts(None, None, ("ham", "spam"), 1.0, print), backbone="tiny").classes
        ('ham', 'spam')
    """
    model = TextClassifier(**arguments)
    model._learnt = learnt
    return model


def sets_in_order(given: Flags, probabilities: Floats, classes: Sequence[Any]) -> list[list[Any]]:
    """Return the given classes of each text, the most probable first.

    Example:
        >>> sets_in_order(np.array([[True, False, True]]), np.array([[0.2, 0.1, 0.7]]), ["a", "b", "c"])
        [['c', 'a']]
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    return [[classes[one] for one in ranked.tolist() if row[one]] for row, ranked in zip(given, order, strict=True)]


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        why = getattr(error, "strerror", None) or reason(error)
        raise UserError(
            f"The model cannot be written to {folder} ({why}); make room there, or name another folder."
        ) from error


def _column(values: Any, name: str) -> list[Any]:
    """Convert a list, column or array to a list of texts or labels."""
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise UserError(f"{name} must be a list, a column or a one-dimensional array, a text or label each.")
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _check_config(folder: Path, names: tuple[str, ...], thresholds: Sequence[float]) -> None:
    """Refuse names that are not those of the weights: a head of another size would be drawn at random.

    Also refuse other thresholds than transformers sees, and sigmoid where transformers would apply softmax.
    """
    config = read_object(folder / "config.json")
    named = config.get("id2label")
    if named is not None and named != {str(number): name for number, name in enumerate(names)}:
        raise UserError(
            f"{folder / ABOUT} is damaged: its classes are not the `id2label` of config.json; copy the folder or "
            "export the model again."
        )
    several = len(thresholds) > 0
    if several != (config.get("problem_type") == MULTI_LABEL):
        only, other = (ABOUT, "config.json") if several else ("config.json", ABOUT)
        raise UserError(
            f"{folder} is damaged: {only} is of a model for several labels per text, and {other} is not; copy the "
            "folder or export the model again."
        )
    if several and config.get("thresholds") != list(thresholds):
        raise UserError(
            f"{folder / ABOUT} is damaged: its thresholds are not those of config.json; copy the folder or export the "
            "model again."
        )
