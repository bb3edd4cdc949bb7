"""A trained text classifier, which is also a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from hybridal.measures.calibration import softmax
from hybridal.models.token_arrays import CHUNK, Tokens
from hybridal.randomness import check_seed
from hybridal.runs.export import model_folder, write_model
from hybridal.system.background_imports import import_in_thread
from hybridal.system.files import read_object, usable_path
from hybridal.system.scratch import scratch
from hybridal.tasks.single import ONE_LABEL, ONE_TEXT, is_several
from hybridal.tasks.store import TYPES
from hybridal.tasks.task import Task, as_type


@dataclass(frozen=True)
class Learnt:
    """The parts of a trained classifier; `write` saves it to a folder."""

    classifier: Any
    encoder: Any
    classes: tuple[Any, ...]
    temperature: float
    write: Callable[[Path], None]


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier: `learner.model`, a loaded folder, or an estimator to fit.

    If all texts have labels, use it like any estimator of scikit-learn, in pipelines, `cross_val_score` and searches.
    `fit` is one round of an `ActiveLearner` that retrains.

    Args:
        backbone: Name, folder or hub id of the pretrained encoder.
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

    _learnt: Learnt | None = None

    def __init__(
        self,
        backbone: str = "minilm",
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
            y: One label per text.
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
        """
        if others:
            raise UserError(f"fit takes texts and labels and no `{next(iter(others))}`: all texts count alike.")
        from hybridal.learners.active_learner import ActiveLearner

        check_seed(self.seed, "seed")
        texts, labels, rules = _column(X, "X"), _column(y, "y"), rules_of(self.protocol, self.overrides or {})
        held = None if rules.validation == "fixed" else rules.validation_rows(len(texts))
        task = Task.from_texts(texts, labels, validation_size=held, test_size=0, split_seed=self.seed)
        for _, split in task.splits():
            for id in np.array(split.ids)[split.labels == UNKNOWN]:
                raise UserError(f"y: text {id} has no label; leave it out, or teach an ActiveLearner the others.")
        learner = ActiveLearner(
            task, self.backbone, "retrain", self.protocol, seed=self.seed, device=self.device, **(self.overrides or {})
        )
        learner.teach(task.answers(task.train.ids))
        self._learnt = learner.model._learnt
        return self

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> TextClassifier:
        """Load a model that `save`, `hybridal export` or a run wrote.

        The temperature is part of the weights, so that transformers computes the same probabilities.

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
        _check_classes(folder, names)
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
        text = card.read_text(encoding="utf-8") if card.is_file() else ""

        def write(target: Path) -> None:
            """Write the model from memory: its folder may be gone."""
            write_model(classifier, encoder, 1.0, about, text, target)

        return fitted(Learnt(classifier, encoder, classes, 1.0, write), device=device)

    @property
    def classes(self) -> tuple[Any, ...]:
        """Classes in the order of the columns of `predict_proba`, in the type of the labels."""
        return self._known.classes

    @property
    def classes_(self) -> NDArray[Any]:
        """`classes` as an array, for scikit-learn."""
        return np.asarray(self._known.classes)

    def predict_proba(self, texts: Iterable[str]) -> Floats:
        """Predict calibrated probabilities.

        Args:
            texts: The texts.

        Returns:
            An array with one row per text and one column per class, in the order of `classes`.

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
        found = np.empty((len(texts), len(known.classes)))
        for start in range(0, len(texts), CHUNK):
            tokens = Tokens.of(known.encoder.encode(texts[start : start + CHUNK]), known.encoder.pad)
            source = known.classifier.source(tokens)
            logits = predict(known.classifier, source, np.arange(len(tokens))).logits
            found[start : start + len(tokens)] = softmax(logits, known.temperature)
        return found

    def predict(self, texts: Iterable[str]) -> NDArray[Any]:
        """Predict the most probable class of each text.

        Args:
            texts: The texts.

        Returns:
            The classes, in the type of the labels.

        Raises:
            UserError: If an item is not a text.

        Example:
            >>> from hybridal.testing.small import toy_task
            >>> rows = toy_task().train
            >>> model = TextClassifier("tiny", protocol="quick", device="cpu").fit(rows.texts, rows.labels)
            >>> model.predict(rows.texts).shape, model.predict(["the goal of the match"])[0] in (0, 1)
            ((120,), True)
        """
        found: NDArray[Any] = self.classes_[self.predict_proba(texts).argmax(axis=1)]
        return found

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
            ['config.json', 'hybridal.json', 'tokenizer.json', 'tokenizer_config.json']
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
        """Save the model as `model.onnx`, with its tokenizer.

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
            found: Path = known.classifier.save_onnx(known.encoder, folder, known.temperature)
        return found

    @property
    def _known(self) -> Learnt:
        check_is_fitted(self)
        assert self._learnt is not None
        return self._learnt

    def __sklearn_is_fitted__(self) -> bool:
        return self._learnt is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
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


def fitted(learnt: Learnt, **arguments: Any) -> TextClassifier:
    """Return a fitted classifier.

    Args:
        learnt: Its trained parts.
        arguments: Those of the constructor, for fitting it again.

    Returns:
        The classifier.

    Example:
        >>> fitted(Learnt(None, None, ("ham", "spam"), 1.0, print), backbone="tiny").classes
        ('ham', 'spam')
    """
    model = TextClassifier(**arguments)
    model._learnt = learnt
    return model


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
    if name == "y" and getattr(values, "ndim", 1) == 2:
        raise UserError(f"y has a row for each text; {ONE_LABEL}")
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise UserError(f"{name} must be a list, a column or a one-dimensional array, a text or label each.")
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _check_classes(folder: Path, names: tuple[str, ...]) -> None:
    """Refuse names that are not those of the weights: a head of another size would be drawn at random."""
    named = read_object(folder / "config.json").get("id2label")
    if named is not None and named != {str(number): name for number, name in enumerate(names)}:
        raise UserError(
            f"{folder / ABOUT} is damaged: its classes are not the `id2label` of config.json; copy the folder or "
            "export the model again."
        )
