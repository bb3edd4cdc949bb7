"""Schedules: which update comes next, decided from the history so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from hybridal.core.components import answer_error, calling
from hybridal.core.rounds import LabelChanges, Round
from hybridal.measures.stabilisation import Stabilisation
from hybridal.registry import Registry, unknown_name
from hybridal.signals import Signal
from hybridal.updates import UPDATES, Update


@dataclass(frozen=True)
class Rule:
    """Switch for good, to fine-tuning as a rule, once the changes of a signal have settled."""

    signal: Signal
    detector: Stabilisation

    def changes(self, history: Sequence[Round]) -> list[float | None]:
        return [fact.changes.get(self.signal.name) for fact in history]

    def t_star(self, history: Sequence[Round]) -> int | None:
        """The stabilisation round, or None while there is none."""
        return self.detector.t_star(self.changes(history))


class Schedule(Protocol):
    """Decides. `watches` are the signals whose changes it must find in the history.

    What it says of itself beside its decision, all of which can be inherited, is for people and for plans.
    """

    name: ClassVar[str]

    @property
    def spec(self) -> str:
        """The text from which `make_schedule` makes this schedule again."""

    @property
    def watches(self) -> tuple[Signal, ...]:
        return ()

    @property
    def title(self) -> str:
        """What tables and figures call it."""
        return self.spec

    @property
    def rule(self) -> Rule | None:
        """By which signal it switches, and when that has settled; None where it decides otherwise."""
        return None

    def t_star(self, history: Sequence[Round]) -> int | None:
        """The round after which it had seen enough to switch; None while it has not, or never looks."""
        return self.rule.t_star(history) if self.rule else None

    def switch_rounds(self, rounds: int) -> range | None:  # noqa: ARG002
        """In which of so many rounds it may turn from retraining to fine-tuning for good; the one after them means
        never. None where it may do something else: nobody can tell beforehand which rounds it shares.
        """
        return None

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        """The update of round `len(history) + 1`; the same history and news always give the same answer.

        `label_changes` are the labels that came since the last round, None while they are awaited.
        """


SCHEDULES: Registry[Schedule] = Registry("schedules", "spec", "watches", "title", "decide")


def decide(schedule: Schedule, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
    """The update that a schedule decides for; a schedule that fails or decides for something else is named.

    Args:
        schedule: The schedule.
        history: All rounds so far, oldest first.
        news: The labels that came since the last round; None while they are awaited.

    Returns:
        The update of round `len(history) + 1`.

    Raises:
        UserError: A schedule of another package failed, or did not give an update.

    Example:
        >>> decide(make_schedule("retrain"), []).spec
        'retrain'
    """
    with calling("schedule", schedule):
        update = schedule.decide(history, label_changes)
        whole = all(hasattr(update, part) for part in ("letter", "spec", "plan"))
    if not whole:
        raise answer_error("schedule", schedule, f"must decide for an update, not {update!r:.60}")
    return update


def schedule_names() -> list[str]:
    """Everything that `make_schedule` understands: schedules, and each update as its own constant schedule."""
    return sorted({*SCHEDULES.names(), *UPDATES.names()} - {"constant"})


def make_schedule(spec: str, epsilon: float | None = None, patience: int | None = None) -> Schedule:
    """The schedule that a spec describes; ε and k may be given beside it.

    >>> make_schedule("anchor:0.6").spec, make_schedule("hybrid:accuracy", patience=3).spec
    ('anchor:0.6', 'hybrid:accuracy:0.005:3')
    """
    from hybridal.errors import UserError
    from hybridal.schedules._by_path import ByPath
    from hybridal.schedules.constant import Constant
    from hybridal.schedules.hybrid import HybridAL

    name = spec.split(":")[0].strip().lower().replace("_", "-")
    if "." not in name and name not in schedule_names():
        raise unknown_name("schedule", name, schedule_names())
    schedule = Constant(UPDATES.make(spec)) if name in UPDATES.names() else SCHEDULES.make(spec)
    if epsilon is None and patience is None:
        return ByPath(schedule, spec) if "." in name and not _names_itself(schedule) else schedule
    if not isinstance(schedule, HybridAL):
        raise UserError(
            f"`epsilon` and `patience` belong to hybrid schedules, not to '{spec}'.",
            field="patience" if epsilon is None else "epsilon",
        )
    return HybridAL(
        schedule.signal,
        schedule.epsilon if epsilon is None else epsilon,
        schedule.patience if patience is None else patience,
    )


def spec_of(schedule: Schedule) -> str:
    """The spec that makes this schedule again, of whatever class it is.

    >>> spec_of(make_schedule("anchor:0.6"))
    'anchor:0.6'
    """
    from hybridal.schedules._by_path import ByPath
    from hybridal.schedules.constant import Constant

    return schedule.spec if isinstance(schedule, Constant | ByPath) else SCHEDULES.spec_of(schedule)


def _names_itself(schedule: Schedule) -> bool:
    """Whether its own spec leads to its class: it does where a package registered that."""
    from hybridal.errors import UserError

    try:
        return type(SCHEDULES.make(schedule.spec)) is type(schedule)
    except UserError:
        return False
