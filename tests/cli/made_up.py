"""Made-up rounds, for tests of the sentences about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hybridal.core.rounds import Cost, LabelChanges, Metrics, MultiLabelMetrics, Round
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import Rule, Schedule
from hybridal.signals import SIGNALS
from hybridal.updates import UPDATES, Update


@dataclass(frozen=True)
class EnoughLabels(Schedule):
    """A user's own schedule, which switches at a number of labels."""

    labels: int
    name: ClassVar[str] = "enough-labels"

    @property
    def spec(self) -> str:
        return f"{__name__}.EnoughLabels:{self.labels}"

    def t_star(self, history: Sequence[Round]) -> int | None:
        return next((record.round for record in history if record.labels >= self.labels), None)

    def decide(self, history: Sequence[Round], news: LabelChanges | None = None) -> Update:
        return UPDATES.make("retrain" if self.t_star(history) is None else "finetune")


@dataclass(frozen=True)
class ReplaysOnceSettled(Schedule):
    """A user's own schedule, which switches by our rule to another update."""

    name: ClassVar[str] = "replays-once-settled"
    spec: ClassVar[str] = f"{__name__}.ReplaysOnceSettled"

    @property
    def rule(self) -> Rule:
        return Rule(SIGNALS.make("accuracy"), Stabilisation(0.05, 2))

    def decide(self, history: Sequence[Round], news: LabelChanges | None = None) -> Update:
        return UPDATES.make("retrain" if self.t_star(history) is None else "replay:96")


def metrics(right: int) -> Metrics:
    return Metrics(20, right, right / 20, 0.25, 0.5, 0.125, 0.0625, 0.4375, 0.0312, support=(10, 10))


def history_of(sequence: str, changes: Sequence[float | None], test: bool = False) -> list[Round]:
    """A round for each letter of the update sequence, R or F, with these changes of accuracy."""
    names = {"R": "retrain", "F": "finetune"}
    return [
        Round(
            round=t,
            update=names[letter],
            update_sequence=sequence[:t],
            labels=8 + 4 * t,
            cost=Cost(steps=3, examples=30, tokens=300, epochs=2),
            kept_epoch=1,
            temperature=1.5,
            validation=metrics(10 + t),
            test=metrics(15) if test and t == len(sequence) else None,
            changes={"accuracy": change},
            acquired=(f"text-{t}",),
            scores=(0.5,),
            seconds={"train": 1.0, "validate": 0.25},
        )
        for t, (letter, change) in enumerate(zip(sequence, changes, strict=True), start=1)
    ]


def with_several_labels(history: Sequence[Round]) -> list[Round]:
    """The same rounds as if their texts had several labels each, of which 60 were validated: 21 match exactly."""
    found = MultiLabelMetrics(
        60, 21, 0.35, 0.6, 0.4, 0.1, 0.2, 0.35, 0.05, support=(40, 30), micro_f1=0.7, lrap=0.8, hamming=0.12
    )
    return [replace(record, validation=found, test=found, thresholds=(0.5, 0.5)) for record in history]
