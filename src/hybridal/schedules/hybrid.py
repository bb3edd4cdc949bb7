"""HybridAL: retrain while the model still moves, fine-tune once it has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hybridal.core.rounds import LabelChanges, Round
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import Rule, Schedule
from hybridal.signals import SIGNALS, Signal
from hybridal.updates import Update
from hybridal.updates.finetune import FineTune
from hybridal.updates.retrain import Retrain


@dataclass(frozen=True, init=False)
class HybridAL(Schedule):
    """Algorithm 1's decision: after k rounds in a row whose signal changed by less than ε, fine-tune for good.

    ε and k default to the signal's own. The round that completes the streak is t*; fine-tuning begins in t* + 1.

    >>> HybridAL("accuracy").spec
    'hybrid:accuracy:0.005:2'
    """

    signal: Signal
    epsilon: float
    patience: int
    name: ClassVar[str] = "hybrid"

    def __init__(
        self, signal: Signal | str = "accuracy", epsilon: float | None = None, patience: int | None = None
    ) -> None:
        # What looks like a number in a spec comes as one, and is no signal's name.
        chosen = SIGNALS.make(str(signal)) if isinstance(signal, str | int | float) else signal
        if not isinstance(epsilon, float | int | None):
            raise ValueError(f"its ε must be a positive number, not '{epsilon}'")
        object.__setattr__(self, "signal", chosen)
        object.__setattr__(self, "epsilon", chosen.epsilon if epsilon is None else float(epsilon))
        object.__setattr__(self, "patience", chosen.patience if patience is None else patience)
        Stabilisation(self.epsilon, self.patience)  # refuses what is no ε or no k

    @property
    def spec(self) -> str:
        return f"hybrid:{SIGNALS.spec_of(self.signal)}:{self.epsilon!r}:{self.patience}"

    @property
    def watches(self) -> tuple[Signal, ...]:
        return (self.signal,)

    @property
    def title(self) -> str:
        return f"HybridAL {self.signal.title}"

    @property
    def rule(self) -> Rule:
        return Rule(self.signal, Stabilisation(self.epsilon, self.patience))

    def switch_rounds(self, rounds: int) -> range:
        # The first round has no change, and the streak must be complete before.
        return range(min(self.patience + 2, rounds + 1), rounds + 2)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:  # noqa: ARG002
        return Retrain() if self.t_star(history) is None else FineTune()
