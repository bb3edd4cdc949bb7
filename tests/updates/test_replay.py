from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.updates import UPDATES
from hybridal.updates.replay import Replay, balanced

from .conftest import Situate


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(older=st.integers(0, 5), seed=st.integers(0, 99), first=st.booleans())
def test_all_new_labels_and_some_older_ones(situate: Situate, older: int, seed: int, first: bool) -> None:
    now = situate(first=first, seed=seed)
    plan = Replay(older).plan(now)
    rows = plan.rows.tolist()
    new = [4, 1, 0, 5, 2] if first else [0, 5, 2]
    drawn = rows[: len(rows) - len(new)]
    assert rows[len(drawn) :] == new
    assert len(drawn) == len(set(drawn)) == (0 if first else min(older, 2))
    assert set(drawn) <= {4, 1}
    assert plan.weights is (now.start() if first else now.last)
    assert (plan.batch, plan.moments, plan.keeps_moments) == (None, None, False)


def test_replay_draw_depends_only_on_the_situation(situate: Situate) -> None:
    drawn = [Replay(1).plan(situate(seed=seed)).rows[0] for seed in [*range(20), *range(20)]]
    assert drawn[:20] == drawn[20:]
    assert set(drawn) == {4, 1}


@pytest.mark.parametrize(("dropout", "expected"), [("on", True), ("off", False), ("finetune", False)])
def test_dropout_is_off_where_only_fine_tuning_has_it(situate: Situate, dropout: str, expected: bool) -> None:
    assert Replay().plan(situate(dropout=dropout)).dropout is expected


@pytest.mark.parametrize("older", ["-1", "2.5", "1e2", "some", "nan"])
def test_invalid_number_of_labels_is_refused(older: str) -> None:
    with pytest.raises(UserError, match=f"'replay:{older}' is not a valid spec"):
        UPDATES.make(f"replay:{older}")


def test_as_many_older_as_new_labels_if_there_are_enough(situate: Situate) -> None:
    rows = Replay("equal").plan(situate()).rows.tolist()
    assert sorted(rows) == [0, 1, 2, 4, 5]  # three new, and both of the older


def test_epochs_of_its_own_but_for_the_first_training(situate: Situate) -> None:
    assert Replay(3, "balanced", 2).plan(situate()).epochs == 2
    assert Replay(3, "balanced", 2).plan(situate(first=True)).epochs is None  # there is nothing yet to add to
    assert Replay(3).plan(situate()).epochs is None
    assert UPDATES.make("replay:3:random:2") == Replay(3, "random", 2)
    assert Replay(3, "random", 2).letter == "P(3,random,2)"
    with pytest.raises(UserError, match="its epochs must be a whole number from 1 on, not 0"):
        UPDATES.make("replay:3:random:0")


def test_replay_specs_are_parsed_and_distinct() -> None:
    assert [Replay(3).letter, Replay("equal").letter, Replay(3, "balanced").letter] == [
        "P(3)", "P(equal)", "P(3,balanced)",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="random or balanced, not fair"):
        Replay(3, "fair")
    with pytest.raises(ValueError, match="or equal, not most"):
        Replay("most")


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
    st.lists(st.integers(0, 3), max_size=10),
    st.integers(0, 30),
    st.integers(0, 5),
)
def test_balanced_takes_from_the_classes_that_a_round_would_see_least_of(
    older: list[int], newest: list[int], wanted: int, seed: int
) -> None:
    labels = np.array([*older, *newest])
    rows, new = np.arange(len(older)), np.arange(len(older), len(labels))
    wanted = min(wanted, len(older))
    drawn = balanced(rows, labels, new, wanted, np.random.default_rng(seed))
    assert len({*drawn.tolist()}) == len(drawn) == wanted
    # One at a time, always of a class that has come up least among those that still have texts.
    count, left = Counter(newest), Counter(older)
    for _ in range(wanted):
        least = min((label for label in left if left[label]), key=lambda label: (count[label], label))
        count[least] += 1
        left[least] -= 1
    seen = Counter(labels[drawn].tolist()) + Counter(newest)
    assert sorted(seen.values()) == sorted(value for value in count.values() if value)
