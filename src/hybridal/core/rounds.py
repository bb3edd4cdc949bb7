"""The facts of one round: what happened, what it cost and how good the model was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

PHASES = ("train", "validate", "score", "select", "signal", "test")


@dataclass(frozen=True)
class Metrics:
    """How good a model is on one split; `nll_scaled` and `ece_scaled` are after temperature scaling.

    `f1` is the mean over the classes that the split has texts of. `support` are the texts of each class: they tell how
    far the other figures can be trusted (`hybridal.measures.certainty`). Older records have none.
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

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Metrics:
        """Metrics from their record."""
        return cls(**{**data, "support": tuple(data.get("support", ()))})


@dataclass(frozen=True)
class Cost:
    """What training took, counted: true on any machine. Tokens are those of the texts, without padding.

    `planned` are the steps that it would have taken if nothing had stopped it early.
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
        known: Labels that the last update had already learnt.
        added: New labels.
        corrected: Labels that were replaced by another.
        withdrawn: Labels that were taken back.
        new_class_count: Classes that had no label before.
        expected: How many labels of unseen classes the known labels led us to expect.
        last: Whether no round follows, so that the model is used as this one leaves it.
        counts: Labels of each class, old and new.
        unseen: New labels of classes that had none before.
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

    @property
    def labels(self) -> int:
        """How many there are now."""
        return sum(self.counts) if self.counts else self.known + self.added + self.corrected

    @property
    def changed(self) -> int:
        """How many labels were given, given anew, or taken back."""
        return self.added + self.corrected + self.withdrawn


@dataclass(frozen=True)
class Chosen:
    """What was chosen for labelling after a round: ids, best first, with their scores, and those that are `held`."""

    round: int
    acquired: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    held: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        return (*self.held, *self.acquired)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Chosen:
        known = {name: tuple(data[name]) for name in ("acquired", "scores", "held")}
        return cls(round=data["round"], seconds=data["seconds"], **known)

    @classmethod
    def is_json(cls, data: Mapping[str, Any]) -> bool:
        return data.keys() == {part.name for part in fields(cls)}


@dataclass(frozen=True, repr=False)
class Round:
    """The record of one turn of the loop: label, learn, choose the next texts.

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
        cross: Metrics of cross-fitted probes of the frozen encoder where there is no validation: a lower bound.
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

    def __repr__(self) -> str:
        """In short; `to_json` has all of it."""
        measured = [
            f"{split} accuracy {found.accuracy:.3f} on {found.n} texts"
            for split, found in (("validation", self.validation), ("test", self.test))
            if found is not None
        ]
        labels = f"{self.labels} label{'' if self.labels == 1 else 's'}"
        return f"Round({', '.join([str(self.round), self.update, labels, *measured])})"

    @property
    def training_time(self) -> float:
        """What the paper calls training time: training with its per-epoch validation."""
        return self.seconds.get("train", 0.0) + self.seconds.get("validate", 0.0)

    def completed(self, chosen: Chosen) -> Round:
        """The round with what was chosen after it."""
        seconds = {**self.seconds, **chosen.seconds}
        return replace(self, acquired=chosen.acquired, scores=chosen.scores, held=chosen.held, seconds=seconds)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Round:
        known = dict(data)
        known["cost"] = Cost(**known["cost"])
        for split in ("validation", "test", "cross"):
            known[split] = None if known.get(split) is None else Metrics.from_json(known[split])
        if known.get("label_changes") is not None:
            known["label_changes"] = LabelChanges(
                **{**known["label_changes"], "counts": tuple(known["label_changes"].get("counts", ()))}
            )
        known["acquired"] = tuple(known["acquired"])
        known["scores"] = tuple(known["scores"])
        known["held"] = tuple(known.get("held", ()))
        return cls(**known)
