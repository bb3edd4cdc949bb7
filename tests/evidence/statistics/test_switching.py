import math
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.evidence.statistics.switching import below_stretches, switching
from hybridal.schedules.hybrid import HybridAL

from ..made_up import history_of
from .samples import run

SCHEDULE = HybridAL("accuracy", 0.005, 2)
histories = st.lists(
    st.lists(st.sampled_from([0.0, 0.001, 0.004, 0.005, 0.006, 0.03]), max_size=15).map(lambda rest: [None, *rest]),
    max_size=5,
)


@given(histories, st.integers(1, 4))
def test_it_agrees_with_a_plain_reading_of_the_definition(runs: list[list[float | None]], k: int) -> None:
    found = switching([run(changes) for changes in runs], HybridAL("accuracy", 0.005, k))
    t_stars, above, after, largest = [], 0, 0, []
    for changes in runs:
        fits = [
            t for t in range(k, len(changes) + 1)
            if all(change is not None and change < 0.005 for change in changes[t - k : t])
        ]  # fmt: skip
        t_stars.append(fits[0] if fits else None)
        if fits:
            later = [change for change in changes[fits[0] :] if change is not None]
            after += len(later)
            above += sum(not change < 0.005 for change in later)
            largest += later
    fired = [t for t in t_stars if t is not None]
    assert found.t_stars == tuple(t_stars)
    assert (found.fired, found.rounds_after, found.recrossed) == (len(fired), after, above)
    assert found.fire_rate == (len(fired) / len(runs) if runs else None)
    assert found.mean_t_star == (pytest.approx(sum(fired) / len(fired)) if fired else None)
    assert found.recrossed_share == (above / after if after else None)
    assert found.largest_after == max(largest, default=None)
    assert found.last_round == sum(t == len(changes) for t, changes in zip(t_stars, runs, strict=True))


@given(histories, st.integers(1, 4))
def test_stretches_are_the_groups_below(runs: list[list[float | None]], k: int) -> None:
    found = below_stretches([run(changes) for changes in runs], HybridAL("accuracy", 0.005, k))
    known = [
        len(list(group))
        for changes in runs
        for below, group in groupby(changes, key=lambda change: change is not None and change < 0.005)
        if below
    ]
    assert found.lengths == tuple(known)
    assert found.shorter == sum(length < k for length in known)
    assert found.shorter_share == (found.shorter / len(known) if known else None)
    assert found.cut_off == sum(changes[-1] is not None and changes[-1] < 0.005 for changes in runs)
    fired = switching([run(changes) for changes in runs], HybridAL("accuracy", 0.005, k)).fired
    assert fired <= len(known) - found.shorter


def test_exactly_epsilon_is_a_crossing() -> None:
    found = switching([run([None, 0.001, 0.001, 0.005, 0.004])], SCHEDULE)
    assert (found.t_stars, found.recrossed, found.rounds_after) == ((3,), 1, 2)


def test_a_switch_in_the_last_round_is_counted_apart() -> None:
    found = switching([run([None, 0.001, 0.001]), run([None, 0.001, 0.001, 0.2])], SCHEDULE)
    assert (found.fired, found.last_round, found.rounds_after, found.recrossed_share) == (2, 1, 1, 1.0)
    assert (found.mean_t_star, found.sd_t_star) == (3.0, 0.0)


def test_own_runs_of_a_schedule() -> None:
    history = history_of("hybrid:accuracy:0.005:2")
    found = switching([history], SCHEDULE)
    assert found.t_stars == (history[-1].word.count("R"),)
    assert found.rounds_after == history[-1].word.count("F") == len(history) - history[-1].word.count("R")


def test_degenerate() -> None:
    none = switching([], SCHEDULE)
    assert (none.fire_rate, none.mean_t_star, none.recrossed_share, none.largest_after) == (None,) * 4
    quiet = switching([run([None, 0.1]), run([None]), []], SCHEDULE)
    assert (quiet.t_stars, quiet.fire_rate, quiet.mean_t_star, quiet.sd_t_star) == ((None,) * 3, 0.0, None, None)
    assert switching([run([None, 0.0, 0.0])], SCHEDULE).sd_t_star is None
    assert below_stretches([], SCHEDULE).shorter_share is None
    assert below_stretches([[], run([None])], SCHEDULE).lengths == ()


def test_bad_input() -> None:
    for ask in (switching, below_stretches):
        with pytest.raises(UserError, match="the change of 'accuracy' in round 2"):
            ask([run([None, math.nan])], SCHEDULE)
        with pytest.raises(UserError, match="did not record the signal 'accuracy'"):
            ask([run([None, 0.1], "cka")], SCHEDULE)
        with pytest.raises(UserError, match="Round 1 is missing"):
            ask([run([None, 0.1])[1:]], SCHEDULE)
