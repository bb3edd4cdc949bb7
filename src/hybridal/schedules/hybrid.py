"""HybridAL: retrain until the model has stabilised, then fine-tune."""

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
    """Retrains until a signal has stabilised, then fine-tunes for good (the decision in Algorithm 1).

    It switches after k rounds in a row in which the signal changed by less than ε. The round that completes the streak
    is t*; fine-tuning begins in round t* + 1. Its methods and their arguments are those of `Schedule`.

    Attributes:
        signal: The signal to watch.
        epsilon: The threshold ε; by default the signal's.
        patience: The number k of stable rounds in a row; by default the signal's.

    Example:
        >>> from hybridal.testing import fake_history
        >>> schedule = HybridAL("accuracy")
        >>> schedule.spec
        'hybrid:accuracy:0.005:2'
        >>> history = fake_history(schedule.watches, seed=1)
        >>> schedule.t_star(history), schedule.decide(history[:6]).spec, schedule.decide(history[:7]).spec
        (7, 'retrain', 'finetune')
    """

    signal: Signal
    epsilon: float
    patience: int
    name: ClassVar[str] = "hybrid"

    def __init__(
        self, signal: Signal | str = "accuracy", epsilon: float | None = None, patience: int | None = None
    ) -> None:
        """Create the schedule.

        Args:
            signal: The signal to watch, or its spec.
            epsilon: The threshold ε; None takes the signal's default.
            patience: The number k of stable rounds in a row; None takes the signal's default.

        Raises:
            UserError: There is no such signal, or ε or k are not valid.
        """
        # The registry turns arguments that look like numbers into numbers; let them fail as unknown signal names.
        chosen = SIGNALS.make(str(signal)) if isinstance(signal, str | int | float) else signal
        if not isinstance(epsilon, float | int | None):
            raise ValueError(f"its ε must be a positive number, not '{epsilon}'")
        object.__setattr__(self, "signal", chosen)
        object.__setattr__(self, "epsilon", chosen.epsilon if epsilon is None else float(epsilon))
        object.__setattr__(self, "patience", chosen.patience if patience is None else patience)
        Stabilisation(self.epsilon, self.patience)  # validates both

    @property
    def spec(self) -> str:
        """Such as `hybrid:accuracy:0.005:2`."""
        return f"hybrid:{SIGNALS.spec_of(self.signal)}:{self.epsilon!r}:{self.patience}"

    @property
    def watches(self) -> tuple[Signal, ...]:
        """The signal, as the only one."""
        return (self.signal,)

    @property
    def title(self) -> str:
        """Such as `HybridAL ΔAcc`."""
        return f"HybridAL {self.signal.title}"

    @property
    def rule(self) -> Rule:
        """The signal with ε and k."""
        return Rule(self.signal, Stabilisation(self.epsilon, self.patience))

    def switch_rounds(self, rounds: int) -> range:
        """Return the rounds from k + 2 on: the first has no change, and k stable ones must come before."""
        return range(min(self.patience + 2, rounds + 1), rounds + 2)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:  # noqa: ARG002
        """Retrain until t*, then fine-tune."""
        return Retrain() if self.t_star(history) is None else FineTune()
