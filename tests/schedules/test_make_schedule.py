from __future__ import annotations

import pytest

from hybridal.errors import UserError
from hybridal.schedules import make_schedule, schedule_names
from hybridal.schedules.hybrid import HybridAL


def test_all_schedules_are_registered() -> None:
    assert {"retrain", "finetune", "newonly", "anchor", "replay", "fixed", "hybrid"} <= set(schedule_names())
    assert "constant" not in schedule_names()


@pytest.mark.parametrize("spec", [*sorted({*schedule_names()} - {"fixed"}), "fixed:3", "anchor:0.25", "replay:7"])
def test_schedule_is_rebuilt_from_its_spec(spec: str) -> None:
    made = make_schedule(spec)
    assert make_schedule(made.spec) == made
    assert made.spec.startswith(spec)


@pytest.mark.parametrize("spec", ["Retrain", " retrain", "RETRAIN"])
def test_spelling_is_forgiven(spec: str) -> None:
    assert make_schedule(spec).spec == "retrain"


def test_epsilon_and_patience_may_be_given_next_to_the_spec() -> None:
    assert make_schedule("hybrid:loss", 0.5, 4) == HybridAL("loss", 0.5, 4)
    assert make_schedule("hybrid:loss:0.5:4", patience=1) == HybridAL("loss", 0.5, 1)
    assert make_schedule("hybrid:loss:0.5:4", epsilon=0.25) == HybridAL("loss", 0.25, 4)


@pytest.mark.parametrize("spec", ["retrain", "anchor:0.5", "fixed:3"])
@pytest.mark.parametrize(("epsilon", "patience"), [(0.1, None), (None, 2)])
def test_epsilon_and_patience_are_only_for_hybrid_schedules(
    spec: str, epsilon: float | None, patience: int | None
) -> None:
    with pytest.raises(UserError, match=f"`epsilon` and `patience` belong to hybrid schedules, not to '{spec}'"):
        make_schedule(spec, epsilon, patience)


@pytest.mark.parametrize(("epsilon", "patience", "message"), [(0.0, None, "`epsilon`"), (None, 0, "`patience`")])
def test_bad_values_of_epsilon_and_patience_are_refused(
    epsilon: float | None, patience: int | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        make_schedule("hybrid:accuracy", epsilon, patience)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fixed", "write fixed:FIRST"),
        ("fixed:soon", "must be a whole number from 1 on, not soon"),
        ("retrain:3", "write retrain"),
        ("hybrid:accuracy:small", "its ε must be a positive number, not 'small'"),
        ("hybrid:accuracy:", "its ε must be a positive number, not ''"),
        ("hybrid:accuracy:0.01:few", "`patience` must be a whole number, not few"),
        ("hybrid:accuracy:0.01:2:9", r"write hybrid\[:SIGNAL\]\[:EPSILON\]\[:PATIENCE\]"),
        ("hybrid:3", "no signal named '3'"),
        ("constant:3", "no schedule named 'constant'"),
        ("constant:retrain", "no schedule named 'constant'"),
    ],
)
def test_invalid_spec_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_schedule(spec)


def test_a_misspelt_name_gets_the_nearest() -> None:
    with pytest.raises(UserError, match=r"no schedule named 'hybird'; did you mean 'hybrid'\?$"):
        make_schedule("hybird")


@pytest.mark.parametrize("spec", ["", "hybrid-accuracy"])
def test_an_unknown_name_gets_the_list(spec: str) -> None:
    with pytest.raises(
        UserError, match=f"no schedule named '{spec}'; there are anchor, auto, finetune, fixed, hybrid, newonly"
    ):
        make_schedule(spec)
