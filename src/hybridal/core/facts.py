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
class News:
    """What came since the last update: new labels, old ones that were corrected or withdrawn, and classes that had no
    label before, with how many `unseen` labels; `known` labels were there already, and made us expect so many of
    unseen classes. `counts` are the labels of each class, old and new. `last` says that no round follows: the model is
    used as it is then.
    """

    known: int = 0
    added: int = 0
    corrected: int = 0
    withdrawn: int = 0
    classes: int = 0
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
    """One turn of the loop. A function of (task, backbone, protocol, seed, word), `seconds` apart.

    It learns, then chooses: `completed` joins the two where the second comes later.

    `labels` counts what the model could learn from, `kept_epoch` the epoch whose weights were kept (0: those that it
    started from; 1.5: in the middle of the second), `changes` the change of each watched signal since the round before
    (None in the first), `acquired` the ids chosen for labelling next, `held` those that were drawn to be measured on.
    `reason` says why this update was chosen, `news` what it had to learn. Where there is no validation, `cross` are the
    measures of probes of the frozen encoder on labels that each was not fitted to: what can be relied on at least.
    """

    round: int
    update: str
    word: str
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
    news: News | None = None
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
        if known.get("news") is not None:
            known["news"] = News(**{**known["news"], "counts": tuple(known["news"].get("counts", ()))})
        known["acquired"] = tuple(known["acquired"])
        known["scores"] = tuple(known["scores"])
        known["held"] = tuple(known.get("held", ()))
        return cls(**known)
