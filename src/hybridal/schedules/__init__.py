"""Schedules decide the next update from the history so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Protocol

from hybridal.core.components import calling, result_error
from hybridal.core.rounds import LabelChanges, Round
from hybridal.measures.stabilisation import Stabilisation
from hybridal.registry import Registry, unknown_name
from hybridal.signals import Signal
from hybridal.updates import UPDATES, Update


@dataclass(frozen=True)
class Rule:
    """When a schedule switches for good: once the changes of a signal have stabilised.

    Attributes:
        signal: The signal whose changes are compared with ε.
        detector: ε and k (patience).

    Example:
        >>> from hybridal.testing import fake_history
        >>> rule = make_schedule("hybrid:loss").rule
        >>> rule.detector, rule.t_star(fake_history((rule.signal,), seed=1))
        (Stabilisation(epsilon=0.00798595, patience=3), 8)
    """

    signal: Signal
    detector: Stabilisation

    def changes(self, history: Sequence[Round]) -> list[float | None]:
        """Return the signal's recorded changes.

        Args:
            history: The rounds so far, oldest first.

        Returns:
            One change for each round; None for the first, and for rounds in which the signal was not watched.
        """
        return [record.changes.get(self.signal.name) for record in history]

    def t_star(self, history: Sequence[Round]) -> int | None:
        """Return the stabilisation round t*.

        Args:
            history: The rounds so far, oldest first.

        Returns:
            The round that completed the first streak of stable rounds, or None if there is none yet.
        """
        return self.detector.t_star(self.changes(history))


class Schedule(Protocol):
    """Decides how each round trains: whether to retrain, to fine-tune, or something else.

    The loop calls `decide` once at the start of each round, when the labels are there. The decision must depend on the
    arguments alone, not on time, randomness or remembered calls: that is why runs resume exactly and comparisons can
    share rounds. Inherit from this class for the defaults; a frozen dataclass is the simplest implementation. Check it
    with `hybridal.testing.check_schedule`.

    Attributes:
        name: The name in specs such as `hybrid:accuracy`, in lower case with hyphens.

    Example:
        Retrain in every third round and fine-tune in between:

        >>> from hybridal.testing import fake_history
        >>> @dataclass(frozen=True)
        ... class Thrice(Schedule):
        ...     name: ClassVar[str] = "thrice"
        ...     spec: ClassVar[str] = "thrice"
        ...     def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        ...         return UPDATES.make("finetune" if len(history) % 3 else "retrain")
        >>> history = fake_history((), seed=1, rounds=4)
        >>> [Thrice().decide(history[:done]).spec for done in range(5)]
        ['retrain', 'finetune', 'finetune', 'retrain', 'finetune']
    """

    name: ClassVar[str]

    @property
    def spec(self) -> str:
        """The text from which `make_schedule` creates an equal schedule, such as `hybrid:accuracy:0.005:2`."""

    @property
    def watches(self) -> tuple[Signal, ...]:
        """The signals to measure each round; their changes are in `Round.changes`. None by default."""
        return ()

    @property
    def title(self) -> str:
        """The name in tables and figures; the spec by default."""
        return self.spec

    @property
    def rule(self) -> Rule | None:
        """The signal and thresholds by which it switches, for reports; None if it decides by something else."""
        return None

    def t_star(self, history: Sequence[Round]) -> int | None:
        """Return the round after which the schedule had seen enough to switch, for reports.

        Args:
            history: The rounds so far, oldest first.

        Returns:
            That round, which never changes later; None as long as there is none. By default, that of `rule`.
        """
        return self.rule.t_star(history) if self.rule else None

    def switch_rounds(self, rounds: int) -> range | None:  # noqa: ARG002
        """Return the rounds in which the schedule may switch from retraining to fine-tuning for good.

        Studies use it to plan which rounds schedules will share.

        Args:
            rounds: How many rounds there are.

        Returns:
            A range of rounds, in which `rounds + 1` means never; None (the default) if the schedule may do anything
            else, so that its shared rounds cannot be predicted.
        """
        return None

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        """Decide the update of round `len(history) + 1`.

        Args:
            history: The records of all rounds so far, oldest first; empty in the first round.
            label_changes: The labels that came since the last round; None if they are not there yet and a preview
                of the decision is wanted.

        Returns:
            The update, such as `UPDATES.make("finetune")`. Equal arguments must give an equal answer.
        """


SCHEDULES: Registry[Schedule] = Registry("schedules", "spec", "watches", "title", "decide")


def decide(schedule: Schedule, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
    """Call `Schedule.decide` and check its result; errors name the schedule.

    After a change of the pretrained encoder nothing is learnt yet, and the schedule decides as in a first round.

    Args:
        schedule: The schedule.
        history: All rounds so far, oldest first.
        label_changes: The labels that came since the last round; None if they are not there yet.

    Returns:
        The update of round `len(history) + 1`.

    Raises:
        UserError: A schedule of another package failed, or did not return an update.

    Example:
        >>> decide(make_schedule("retrain"), []).spec
        'retrain'
    """
    encoder = label_changes.encoder if label_changes is not None and label_changes.new_encoder else None
    with calling("schedule", schedule):
        update = schedule.decide(history if encoder is None else (), label_changes)
        whole = all(hasattr(update, part) for part in ("letter", "spec", "plan"))
    if not whole:
        raise result_error("schedule", schedule, f"must decide for an update, not {update!r:.60}")
    return update if encoder is None else _with_reason(update, f"new encoder, {encoder.reason}")


def switched_after(schedule: Schedule, history: Sequence[Round]) -> int | None:
    """Call `Schedule.t_star` and check its result; errors name the schedule.

    Args:
        schedule: The schedule.
        history: All rounds so far, oldest first.

    Returns:
        The round after which the schedule had seen enough to switch; None if there is none yet.

    Raises:
        UserError: A schedule of another package failed, or returned something else.

    Example:
        >>> switched_after(make_schedule("retrain"), []) is None
        True
    """
    with calling("schedule", schedule):
        found = schedule.t_star(history)
    if found is not None and not isinstance(found, int):
        raise result_error("schedule", schedule, f"must give a round or None as t_star, not {found!r:.60}")
    return found


def _with_reason(update: Any, reason: str) -> Update:
    """Return the update with another reason, if its class has a field for it."""
    has_field = is_dataclass(update) and "reason" in {field.name for field in fields(update)}
    explained: Update = replace(update, reason=reason) if has_field else update
    return explained


def schedule_names() -> list[str]:
    """Return all names that `make_schedule` accepts: schedules, and updates (the same one in every round)."""
    return sorted({*SCHEDULES.names(), *UPDATES.names()} - {"constant"})


def make_schedule(spec: str, epsilon: float | None = None, patience: int | None = None) -> Schedule:
    """Create a schedule from its spec.

    Args:
        spec: A name with arguments, such as `auto`, `hybrid:accuracy:0.005:2`, `retrain` or `my_package.Thrice`. The
            name of an update means that update in every round.
        epsilon: The threshold ε of a hybrid schedule, instead of the one in the spec.
        patience: The number k of stable rounds of a hybrid schedule, instead of the one in the spec.

    Returns:
        The schedule.

    Raises:
        UserError: The name is unknown, an argument is not valid, or ε or k were given for another kind of schedule.

    Example:
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
    """Return the spec from which `make_schedule` creates an equal schedule.

    >>> spec_of(make_schedule("anchor:0.6"))
    'anchor:0.6'
    """
    from hybridal.schedules._by_path import ByPath
    from hybridal.schedules.constant import Constant

    return schedule.spec if isinstance(schedule, Constant | ByPath) else SCHEDULES.spec_of(schedule)


def _names_itself(schedule: Schedule) -> bool:
    """Whether its `spec` creates its class, as it does if a package registered the schedule by an entry point."""
    from hybridal.errors import UserError

    try:
        return type(SCHEDULES.make(schedule.spec)) is type(schedule)
    except UserError:
        return False
