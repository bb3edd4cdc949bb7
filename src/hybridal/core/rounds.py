"""The record of one round: what happened, what it cost and how good the model was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

from hybridal.core.encoder_choice import EncoderChoice

PHASES = ("train", "validate", "score", "select", "signal", "test")


@dataclass(frozen=True)
class Metrics:
    """How good a model is on one split.

    Attributes:
        n: How many texts were measured.
        right: How many predictions were right.
        accuracy: The share of right predictions.
        f1: Macro-F1: the mean over the classes that the split has texts of.
        nll: The mean negative log-likelihood, in nats.
        ece: The expected calibration error of the predicted class, in 15 bins.
        brier: The Brier score, summed over classes, from 0 to 2.
        nll_scaled: `nll` after temperature scaling.
        ece_scaled: `ece` after temperature scaling.
        support: How many texts each class has, which tells how reliable the other values are
            (`hybridal.measures.certainty`). Empty in older records.
        accuracy_name: What `accuracy` is called.
        json_names: Fields with another name in JSON.

    Example:
        >>> metrics = Metrics(n=50, right=44, accuracy=0.88, f1=0.86, nll=0.4, ece=0.07, brier=0.2,
        ...     nll_scaled=0.36, ece_scaled=0.05, support=(30, 20))
        >>> metrics.right / metrics.n
        0.88
    """

    n: int
    right: int
    accuracy: float
    f1: float
    nll: float
    ece: float
    brier: float
    nll_scaled: float
    ece_scaled: float
    support: tuple[int, ...] = ()

    accuracy_name: ClassVar[str] = "accuracy"
    json_names: ClassVar[Mapping[str, str]] = {}

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON.

        Returns:
            All fields, under the names that they have in JSON.
        """
        return {self.json_names.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Metrics:
        """Create metrics from their JSON object.

        Args:
            data: The fields by name.

        Returns:
            The metrics, a `MultiLabelMetrics` if the object is one of several labels per text.
        """
        kind = MultiLabelMetrics if "macro_f1" in data else Metrics
        names = {there: name for name, there in kind.json_names.items()}
        known: dict[str, Any] = {names.get(name, name): value for name, value in data.items()}
        known |= {name: tuple(known[name]) for name in ("support", "given", "hits") if name in known}
        return kind(**known)


@dataclass(frozen=True)
class MultiLabelMetrics(Metrics):
    """How good a model is on one split of a task with several labels per text.

    `accuracy` is the share of exact matches and `right` their number, as in scikit-learn; `f1` is the macro-F1. In
    JSON they are called `exact_match` and `macro_f1`. `nll`, `ece` and `brier` are means over decisions, a decision
    being one class of one text.

    Attributes:
        micro_f1: The F1 over all decisions.
        lrap: The label ranking average precision.
        hamming: The share of wrong decisions.
        given: How many texts were given each class.
        hits: How many texts were given each class rightly.

    Example:
        >>> found = MultiLabelMetrics(n=2, right=1, accuracy=0.5, f1=0.67, nll=0.3, ece=0.1, brier=0.1, nll_scaled=0.3,
        ...     ece_scaled=0.1, support=(1, 2), micro_f1=0.8, lrap=0.9, hamming=0.25, given=(1, 1), hits=(1, 1))
        >>> found.to_json()["macro_f1"], Metrics.from_json(found.to_json()) == found
        (0.67, True)
    """

    micro_f1: float = 0.0
    lrap: float = 0.0
    hamming: float = 0.0
    given: tuple[int, ...] = ()
    hits: tuple[int, ...] = ()

    accuracy_name: ClassVar[str] = "exact match"
    json_names: ClassVar[Mapping[str, str]] = {"accuracy": "exact_match", "f1": "macro_f1"}


@dataclass(frozen=True)
class Cost:
    """The counted cost of a training, the same on any machine.

    Attributes:
        steps: Optimiser steps.
        examples: Examples trained on, counted in each epoch.
        tokens: Tokens of these examples, without padding.
        epochs: Completed epochs.
        planned: The steps that the training would have taken without early stopping.

    Example:
        >>> Cost(steps=30, examples=480, tokens=9000, epochs=3, planned=100)
        Cost(steps=30, examples=480, tokens=9000, epochs=3, planned=100)
    """

    steps: int = 0
    examples: int = 0
    tokens: int = 0
    epochs: int = 0
    planned: int | None = None


@dataclass(frozen=True)
class LabelChanges:
    """Labels added, corrected and withdrawn since the last update.

    Attributes:
        known: Labels that the last update has learnt.
        added: New labels.
        corrected: Labels that were replaced by another.
        withdrawn: Labels that were withdrawn.
        new_class_count: Classes that had no label before.
        expected: The expected number of new labels of unseen classes (Good-Turing).
        last: Whether the round is the last, so that its model is the one to use.
        counts: Labels of each class, old and new.
        unseen: New labels of classes that had none before.
        texts: How many texts have a label, if a text may have several classes; else None.
        encoder: The pretrained encoder that the labels speak for, if several are candidates; else None.

    Example:
        >>> changes = LabelChanges(known=40, added=10, corrected=2, counts=(30, 22))
        >>> changes.labels, changes.changed
        (52, 12)
    """

    known: int = 0
    added: int = 0
    corrected: int = 0
    withdrawn: int = 0
    new_class_count: int = 0
    expected: float = 0.0
    last: bool = False
    counts: tuple[int, ...] = ()
    unseen: int = 0
    texts: int | None = None
    encoder: EncoderChoice | None = None

    @property
    def new_encoder(self) -> bool:
        """Whether the next model starts from another pretrained encoder, of which no weights are known yet."""
        return self.encoder is not None and self.encoder.changed

    @property
    def labels(self) -> int:
        """How many labelled texts there are now."""
        if self.texts is not None:
            return self.texts
        return sum(self.counts) if self.counts else self.known + self.added + self.corrected

    @property
    def changed(self) -> int:
        """How many labels were added, corrected or withdrawn."""
        return self.added + self.corrected + self.withdrawn

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON.

        Returns:
            All fields; `texts` and `encoder` only if they have a value.
        """
        data = {name: value for name, value in asdict(self).items() if value is not None}
        return data if self.encoder is None else {**data, "encoder": self.encoder.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LabelChanges:
        """Create label changes from their JSON object.

        Args:
            data: The fields by name.

        Returns:
            The label changes.
        """
        known = {**data, "counts": tuple(data.get("counts", ()))}
        if known.get("encoder") is not None:
            known["encoder"] = EncoderChoice.from_json(known["encoder"])
        return cls(**known)


@dataclass(frozen=True)
class Chosen:
    """The texts that were chosen for labelling after a round.

    Attributes:
        round: The number of the round.
        acquired: Ids to learn from, best first.
        scores: Their acquisition scores.
        held: Ids drawn at random for validation.
        seconds: Wall-clock seconds of scoring and selecting.
    """

    round: int
    acquired: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    held: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        """All chosen ids."""
        return (*self.held, *self.acquired)

    def to_json(self) -> dict[str, Any]:
        """Return all fields as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Chosen:
        """Create a record from its JSON object."""
        known = {name: tuple(data[name]) for name in ("acquired", "scores", "held")}
        return cls(round=data["round"], seconds=data["seconds"], **known)

    @classmethod
    def is_json(cls, data: Mapping[str, Any]) -> bool:
        """Whether a JSON object of a journal is such a record, and not a `Round`."""
        return data.keys() == {part.name for part in fields(cls)}


@dataclass(frozen=True, repr=False)
class Round:
    """The record of one round of the loop: label, learn, choose the next texts.

    A function of (task, backbone, protocol, seed, update sequence); only `seconds` differs when a run is repeated.

    Attributes:
        round: The number of the round, from 1.
        update: The spec of the update that trained the model, such as `finetune:3`.
        update_sequence: The updates so far, one letter each: `RRRRFF`.
        labels: How many labels the model could learn from.
        cost: Counted cost of the training.
        kept_epoch: The epoch whose weights were kept; 0 for the starting weights, 1.5 for mid second epoch.
        temperature: The fitted temperature, None without validation texts.
        validation: Metrics on validation texts, None without any.
        test: Metrics on test texts, None where the model was not tested.
        changes: The change of each watched signal since the last round; None in the first round.
        acquired: Ids chosen for labelling next, best first.
        scores: Their acquisition scores.
        seconds: Wall-clock seconds per phase.
        held: Ids drawn at random for validation.
        reason: Why the schedule chose this update.
        label_changes: The labels that came since the last update.
        cross: Metrics of cross-fitted probes of the frozen encoder if there is no validation: a lower bound.
        thresholds: With several labels per text: the probability from which each class is given.
        by_model: How many of the labels only a model gave, not people.

    Example:
        >>> from hybridal.testing import fake_history
        >>> fake_history((), seed=1, rounds=2)[-1]
        Round(2, retrain, 264 labels, validation accuracy 0.750 on 100 texts, test accuracy 0.750 on 100 texts)
    """

    round: int
    update: str
    update_sequence: str
    labels: int
    cost: Cost
    kept_epoch: float
    temperature: float | None
    validation: Metrics | None
    test: Metrics | None
    changes: Mapping[str, float | None]
    acquired: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    reason: str = ""
    label_changes: LabelChanges | None = None
    cross: Metrics | None = None
    thresholds: tuple[float, ...] = ()
    by_model: int = 0

    def __repr__(self) -> str:
        """A short form; `to_json` has all fields."""
        measured = [
            f"{split} {found.accuracy_name} {found.accuracy:.3f} on {found.n} text{'' if found.n == 1 else 's'}"
            for split, found in (("validation", self.validation), ("test", self.test))
            if found is not None
        ]
        labels = f"{self.labels} label{'' if self.labels == 1 else 's'}"
        return f"Round({', '.join([str(self.round), self.update, labels, *measured])})"

    @property
    def training_time(self) -> float:
        """Seconds of training with its validation passes, the training time of the paper."""
        return self.seconds.get("train", 0.0) + self.seconds.get("validate", 0.0)

    @property
    def encoder(self) -> EncoderChoice | None:
        """The pretrained encoder of the round, if it was chosen among several."""
        return None if self.label_changes is None else self.label_changes.encoder

    def completed(self, chosen: Chosen) -> Round:
        """Add the texts that were chosen after the round.

        Args:
            chosen: The chosen texts.

        Returns:
            The complete record.
        """
        seconds = {**self.seconds, **chosen.seconds}
        return replace(self, acquired=chosen.acquired, scores=chosen.scores, held=chosen.held, seconds=seconds)

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON.

        Returns:
            All fields; those of several labels per text, or of a model, only if they have a value.
        """
        data = asdict(self)
        if self.label_changes is not None:
            data["label_changes"] = self.label_changes.to_json()
        for split in ("validation", "test", "cross"):
            found: Metrics | None = getattr(self, split)
            data[split] = None if found is None else found.to_json()
        for name in ("thresholds", "by_model"):
            if not data[name]:
                del data[name]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Round:
        """Create a record from its JSON object.

        Args:
            data: The fields by name.

        Returns:
            The record.
        """
        known = dict(data)
        known["cost"] = Cost(**known["cost"])
        for split in ("validation", "test", "cross"):
            known[split] = None if known.get(split) is None else Metrics.from_json(known[split])
        if known.get("label_changes") is not None:
            known["label_changes"] = LabelChanges.from_json(known["label_changes"])
        known["acquired"] = tuple(known["acquired"])
        known["scores"] = tuple(known["scores"])
        known["held"] = tuple(known.get("held", ()))
        known["thresholds"] = tuple(known.get("thresholds", ()))
        return cls(**known)
