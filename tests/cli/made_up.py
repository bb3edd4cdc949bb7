"""Made-up rounds, for tests of the sentences about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hybridal.core.rounds import Cost, LabelChanges, Metrics, Round
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
        return next((fact.round for fact in history if fact.labels >= self.labels), None)

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
