"""Updates: from which weights a round starts, and on which examples it trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from hybridal.core.components import answer_error, calling
from hybridal.core.outputs import Ints
from hybridal.core.pool import Pool
from hybridal.core.rules import Rules
from hybridal.registry import Registry

# Named tensors. Opaque to everything but the model that made them, so that other models can take part.
Weights = Mapping[str, Any]


@dataclass(frozen=True)
class Situation:
    """What an update may look at: θ_{t−1} and its optimiser's moments (None in the first round), and the pool.

    `prepare` gives weights to start from, whose head may take a look at the labels: θ₀, or other weights given to it.
    """

    prepare: Callable[[Weights | None], Weights]
    last: Weights | None
    moments: Weights | None
    pool: Pool
    rules: Rules
    rng: np.random.Generator

    def start(self) -> Weights:
        """θ₀"""
        return self.prepare(None)

    def resume(self) -> Weights:
        """The last weights, or in the first round θ₀."""
        return self.prepare(self.last)


@dataclass(frozen=True)
class Plan:
    """How a round trains: start from `weights`, on `rows` of the pool (none: no training at all).

    `batch` and `epochs` None mean the protocol's; `keeps_moments` asks for the optimiser's moments after training.
    """

    weights: Weights
    rows: Ints
    dropout: bool = True
    epochs: int | None = None
    batch: int | None = None
    moments: Weights | None = None
    keeps_moments: bool = False

    def same_as(self, other: Plan) -> bool:
        """Whether both train alike, to the last bit."""
        numbers = [(plan.dropout, plan.epochs, plan.batch, plan.keeps_moments) for plan in (self, other)]
        return (
            numbers[0] == numbers[1]
            and np.array_equal(self.rows, other.rows)
            and _same_weights(self.weights, other.weights)
            and _same_weights(self.moments, other.moments)
        )


def _same_weights(one: Weights | None, other: Weights | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(
        one[name] is other[name] or bool((one[name] == other[name]).all()) for name in one
    )


class Update(Protocol):
    """One way to bring the model up to date. One that `forgets` looks neither at the last weights nor at moments."""

    name: ClassVar[str]
    forgets: ClassVar[bool] = False

    @property
    def letter(self) -> str:
        """What it adds to a run's word: one letter, and its arguments where it has any."""

    @property
    def spec(self) -> str:
        """The text from which the registry makes this update again."""

    @property
    def title(self) -> str:
        """What tables and figures call it: its class and its arguments."""
        return " ".join([type(self).__name__, *self.spec.split(":")[1:]])

    @property
    def reason(self) -> str:
        """Why a schedule chose it, in a few words; "" where there was nothing to choose."""

    def plan(self, now: Situation) -> Plan: ...


def plan_of(update: Update, now: Situation) -> Plan:
    """How a round trains; an update that fails or gives no plan is named.

    Args:
        update: The update.
        now: What it may look at.

    Returns:
        Its plan.

    Raises:
        UserError: An update of another package failed, or gave something else.
    """
    with calling("update", update):
        plan = update.plan(now)
    if not isinstance(plan, Plan):
        raise answer_error("update", update, f"must give a Plan, not {plan!r:.60}")
    return plan


def check_epochs(epochs: int | None) -> None:
    """Epochs that an update brings along must be a number of them."""
    if epochs is not None and (not isinstance(epochs, int) or epochs < 1):
        raise ValueError(f"its epochs must be a whole number from 1 on, not {epochs}")


UPDATES: Registry[Update] = Registry("updates", "letter", "spec", "plan")
