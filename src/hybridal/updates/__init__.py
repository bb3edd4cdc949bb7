"""Updates define from which weights a round starts and on which examples it trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from hybridal.core.components import calling, result_error
from hybridal.core.outputs import Ints
from hybridal.core.pool import Pool
from hybridal.core.rules import Rules
from hybridal.registry import Registry

# Named tensors. Only the model that created them looks inside, so that models other than torch's are possible.
Weights = Mapping[str, Any]


@dataclass(frozen=True)
class Situation:
    """What an update may use to plan a round.

    Attributes:
        prepare: Returns starting weights made of the given ones, or of the pretrained θ₀ for None; under `head: probe`
            their head is fitted to the labels.
        last: The weights θ_{t−1} of the previous round; None in the first.
        moments: The optimiser's moments of the previous round, if the protocol carries them over.
        pool: The labelled texts, older and newest.
        rules: The protocol.
        rng: The only source of randomness that may be used.

    Example:
        >>> from hybridal.core.rules import protocol
        >>> pool = Pool.unlabelled(4).reveal({0: 1, 2: 0})
        >>> rng = np.random.default_rng(0)
        >>> now = Situation(lambda last: last or {"w": 0.0}, {"w": 1.5}, None, pool, protocol(), rng)
        >>> now.start(), now.resume()
        ({'w': 0.0}, {'w': 1.5})
    """

    prepare: Callable[[Weights | None], Weights]
    last: Weights | None
    moments: Weights | None
    pool: Pool
    rules: Rules
    rng: np.random.Generator

    def start(self) -> Weights:
        """Return the weights of a retraining.

        Returns:
            The pretrained weights θ₀ with a new head.
        """
        return self.prepare(None)

    def resume(self) -> Weights:
        """Return the weights to continue from.

        Returns:
            The weights of the previous round; θ₀ in the first.
        """
        return self.prepare(self.last)


@dataclass(frozen=True)
class Plan:
    """How a round trains.

    Attributes:
        weights: The weights to start from.
        rows: The rows of the pool to train on; none means no training.
        dropout: Whether dropout is on.
        epochs: The number of epochs; None takes the protocol's.
        batch: The batch size; None takes the protocol's.
        moments: The optimiser's moments to start from; None starts a fresh optimiser.
        keeps_moments: Whether to return the optimiser's moments after training.

    Example:
        >>> plan = Plan({}, np.array([4, 1]), epochs=3)
        >>> plan.same_as(Plan({}, np.array([4, 1]), epochs=3)), plan.same_as(Plan({}, np.array([4, 1])))
        (True, False)
    """

    weights: Weights
    rows: Ints
    dropout: bool = True
    epochs: int | None = None
    batch: int | None = None
    moments: Weights | None = None
    keeps_moments: bool = False

    def same_as(self, other: Plan) -> bool:
        """Compare with another plan.

        Args:
            other: The plan to compare with.

        Returns:
            Whether both train in exactly the same way, so that their round can be shared.
        """
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
    """One way to update the model: which weights to start from, which examples to train on.

    A schedule chooses an update each round; the loop then calls `plan` once, when the labels are there. Inherit from
    this class for the defaults; a frozen dataclass is the simplest implementation.

    Attributes:
        name: The name in specs such as `anchor:0.6`, in lower case with hyphens.
        forgets: It uses neither the last weights nor the moments, so they need not be computed or loaded.

    Example:
        Fine-tune on the newest labels for one epoch:

        >>> @dataclass(frozen=True)
        ... class Brief(Update):
        ...     name: ClassVar[str] = "brief"
        ...     letter: ClassVar[str] = "B"
        ...     spec: ClassVar[str] = name
        ...     reason: str = ""
        ...     def plan(self, now: Situation) -> Plan:
        ...         return Plan(now.resume(), now.pool.newest_rows(), epochs=1)
        >>> from hybridal.core.rules import protocol
        >>> pool = Pool.unlabelled(4).reveal({0: 1}).learnt().reveal({2: 0})
        >>> rng = np.random.default_rng(0)
        >>> now = Situation(lambda last: last or {}, {"w": 1.5}, None, pool, protocol(), rng)
        >>> Brief().plan(now)
        Plan(weights={'w': 1.5}, rows=array([2]), dropout=True, epochs=1, batch=None, moments=None, keeps_moments=False)
    """

    name: ClassVar[str]
    forgets: ClassVar[bool] = False

    @property
    def letter(self) -> str:
        """What the update adds to the update sequence: a letter, and its arguments in brackets, such as `A(0.6)`."""

    @property
    def spec(self) -> str:
        """The text from which `UPDATES.make` creates an equal update, such as `anchor:0.6`."""

    @property
    def title(self) -> str:
        """The name in tables and figures; by default the class name and the arguments."""
        return " ".join([type(self).__name__, *self.spec.split(":")[1:]])

    @property
    def reason(self) -> str:
        """Why the schedule chose this update, in a few words; "" if it had no choice."""

    def plan(self, now: Situation) -> Plan:
        """Plan the training of a round.

        Args:
            now: The weights, labels and protocol at the start of the round; they must not be modified.

        Returns:
            The starting weights, training rows and options.
        """


def plan_of(update: Update, now: Situation) -> Plan:
    """Call `Update.plan` and check its result; errors name the update.

    Args:
        update: The update.
        now: The weights, labels and protocol at the start of the round.

    Returns:
        The update's plan.

    Raises:
        UserError: An update of another package failed, or returned something else.
    """
    with calling("update", update):
        plan = update.plan(now)
    if not isinstance(plan, Plan):
        raise result_error("update", update, f"must give a Plan, not {plan!r:.60}")
    return plan


def check_epochs(epochs: int | None) -> None:
    """Raise ValueError unless an update's number of epochs is None or a positive integer."""
    if epochs is not None and (not isinstance(epochs, int) or epochs < 1):
        raise ValueError(f"its epochs must be a whole number from 1 on, not {epochs}")


UPDATES: Registry[Update] = Registry("updates", "letter", "spec", "plan")
