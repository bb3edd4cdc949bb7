import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics.rounds import Switching, checked_changes, switching, whole
from hybridal.measures.stabilisation import Stabilisation

from ..made_up import history_of
from .samples import run

histories = st.lists(
    st.lists(st.sampled_from([0.0, 0.001, 0.004, 0.005, 0.006, 0.03]), max_size=15).map(lambda rest: [None, *rest]),
    max_size=5,
)


def switches(runs: Sequence[Sequence[Round]], k: int = 2) -> Switching:
    return switching(runs, "accuracy", Stabilisation(0.005, k))


@given(histories, st.integers(1, 4))
def test_it_agrees_with_a_plain_reading_of_the_definition(runs: list[list[float | None]], k: int) -> None:
    found = switches([run(changes) for changes in runs], k)
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


def test_exactly_epsilon_is_a_crossing() -> None:
    found = switches([run([None, 0.001, 0.001, 0.005, 0.004])])
    assert (found.t_stars, found.recrossed, found.rounds_after) == ((3,), 1, 2)


def test_a_switch_in_the_last_round_is_counted_apart() -> None:
    found = switches([run([None, 0.001, 0.001]), run([None, 0.001, 0.001, 0.2])])
    assert (found.fired, found.last_round, found.rounds_after, found.recrossed_share) == (2, 1, 1, 1.0)
    assert (found.mean_t_star, found.sd_t_star) == (3.0, 0.0)


def test_own_runs_of_a_schedule() -> None:
    history = history_of("hybrid:accuracy:0.005:2")
    found = switches([history])
    assert found.t_stars == (history[-1].word.count("R"),)
    assert found.rounds_after == history[-1].word.count("F") == len(history) - history[-1].word.count("R")


def test_degenerate() -> None:
    none = switches([])
    assert (none.fire_rate, none.mean_t_star, none.recrossed_share, none.largest_after) == (None,) * 4
    quiet = switches([run([None, 0.1]), run([None]), []])
    assert (quiet.t_stars, quiet.fire_rate, quiet.mean_t_star, quiet.sd_t_star) == ((None,) * 3, 0.0, None, None)
    assert switches([run([None, 0.0, 0.0])]).sd_t_star is None


def test_bad_input() -> None:
    with pytest.raises(UserError, match="the change of 'accuracy' in round 2"):
        switches([run([None, math.nan])])
    with pytest.raises(UserError, match="did not record the signal 'accuracy'"):
        switches([run([None, 0.1], "cka")])
    with pytest.raises(UserError, match="Round 1 is missing"):
        switches([run([None, 0.1])[1:]])


def test_a_missing_round_is_named() -> None:
    history = run([None, 0.1, 0.2])
    assert whole(history) is history
    with pytest.raises(UserError, match="Round 2 is missing from a history: round 3"):
        whole([history[0], history[2]])
    with pytest.raises(UserError, match="Round 1 is missing"):
        whole(history[1:])


def test_changes_are_checked() -> None:
    assert checked_changes(run([None, 0.1]), "accuracy") == [None, 0.1]
    with pytest.raises(UserError, match="Round 1 did not record the signal 'cka'; it has accuracy"):
        checked_changes(run([None]), "cka")
    with pytest.raises(UserError, match="the change of 'accuracy' in round 2"):
        checked_changes(run([None, math.nan]), "accuracy")
