from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from hybridal.acquisition import Selection, select
from hybridal.acquisition.entropy import Entropy
from hybridal.core.components import calling
from hybridal.errors import UserError
from hybridal.schedules import decide, switched_after
from hybridal.signals import measured_change, snapshot_of
from hybridal.testing import FakeCandidates, FakeModel
from hybridal.updates import plan_of


@dataclass(frozen=True)
class Mine:
    """Returns the same value from every method."""

    answer: Any
    name: ClassVar[str] = "mine"

    def select(self, *_: Any) -> Any:
        return self.answer

    snapshot = change = decide = plan = t_star = select


@dataclass(frozen=True)
class Failing(Mine):
    answer: Any = None

    def select(self, *_: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    snapshot = change = decide = plan = t_star = select


CALLS: dict[str, Callable[[Any], Any]] = {
    "acquisition": lambda mine: select(mine, FakeCandidates.random(1), 4, np.random.default_rng(0)),
    "signal": lambda mine: snapshot_of(mine, FakeModel.random(1)),
    "schedule": lambda mine: decide(mine, []),
    "update": lambda mine: plan_of(mine, None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_component_that_fails_is_named_with_the_line(kind: str) -> None:
    with pytest.raises(UserError) as caught:
        CALLS[kind](Failing())
    message = (
        f"The {kind} 'mine' ({__name__}.Failing) failed: ZeroDivisionError: division by zero (test_components.py, line "
    )
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.exit_code == 2
    if kind != "update":
        assert str(caught.value).endswith(f"correct it, and try it with `hybridal.testing.check_{kind}`.")


@pytest.mark.parametrize(
    ("kind", "answer", "complaint"),
    [
        ("acquisition", None, "must return a Selection, not None"),
        ("acquisition", ["a"], r"must return a Selection, not \['a'\]"),
        ("acquisition", Selection((), ()), "must choose 4 ids of .* number of ids is 0, "),
        (
            "acquisition",
            Selection(("x",) * 4, (0.0,) * 4),
            ".* number of ids is 4, of candidates among them 0, of scores 4",
        ),
        (
            "acquisition",
            Selection(("text-81", "text-121", "text-63", "text-31"), (0.5, math.nan, 0.5, 0.5)),
            "must give finite numbers as scores, not nan",
        ),
        ("acquisition", Selection(None, None), "failed: TypeError"),  # type: ignore[arg-type]
        ("signal", None, "must give a snapshot of arrays by name, not None"),
        ("signal", {"a": 3}, "must give a snapshot of arrays by name, not {'a': 3}"),
        ("schedule", None, "must decide for an update, not None"),
        ("schedule", "retrain", "must decide for an update, not 'retrain'"),
        ("update", None, "must give a Plan, not None"),
    ],
)
def test_component_with_an_invalid_result_is_named(kind: str, answer: Any, complaint: str) -> None:
    with pytest.raises(UserError, match=rf"The {kind} 'mine' \({__name__}\.Mine\) {complaint}.*; correct it"):
        CALLS[kind](Mine(answer))


def test_non_finite_change_names_the_signal() -> None:
    with pytest.raises(UserError, match=r"The signal 'mine' .* failed: TypeError: .*NoneType"):
        measured_change(Mine(None), {}, {})  # type: ignore[arg-type]


def test_a_schedule_with_a_wrong_t_star_is_named() -> None:
    good, wrong, failing = Mine(3), Mine("third"), Failing()
    assert switched_after(good, []) == 3  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"The schedule 'mine' .* must give a round or None as t_star, not 'third'"):
        switched_after(wrong, [])  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"The schedule 'mine' .* failed: ZeroDivisionError"):
        switched_after(failing, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [MemoryError(), UserError("mend it")])
def test_unrelated_errors_pass_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, calling("acquisition", Mine(None)):
        raise error
    assert caught.value is error


def test_error_of_our_own_component_passes_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), calling("acquisition", Entropy()):
        raise ZeroDivisionError
