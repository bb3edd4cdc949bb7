from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jaccard as scipy_jaccard

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import Spread
from hybridal.evidence.statistics.rounds import (
    Switching,
    batch_overlaps,
    before_after,
    checked_changes,
    class_shares,
    jaccard,
    mean_scores,
    switching,
    whole,
)
from hybridal.measures.stabilisation import Stabilisation

from ..made_up import history_of
from .samples import run, run_of

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


CLASSES = ["World", "Sports", "Business", "Sci/Tech"]


def history(*acquired: str, scores: tuple[tuple[float, ...], ...] = ()) -> list[Round]:
    return run_of([{}] * len(acquired), [tuple(ids) for ids in acquired], scores)


@given(st.sets(st.sampled_from("abcdefgh")), st.sets(st.sampled_from("abcdefgh")))
def test_jaccard_is_scipys(first: set[str], second: set[str]) -> None:
    found = jaccard(first, second)
    if not first | second:
        assert found is None
    else:
        marks = [np.array([letter in ids for letter in "abcdefgh"]) for ids in (first, second)]
        assert found == pytest.approx(1 - float(scipy_jaccard(*marks)))


def test_overlap_by_round() -> None:
    trunk, other = history("abcd", "efgh", "ijkl", ""), history("dcba", "efxy", "mnop", "")
    assert batch_overlaps(trunk, other) == (1.0, 2 / 6, 0.0, None)
    assert batch_overlaps(trunk, trunk) == (1.0, 1.0, 1.0, None)
    assert batch_overlaps(trunk, other[:2]) == (1.0, 2 / 6)
    assert batch_overlaps([], other) == ()
    with pytest.raises(UserError, match="Round 1 is missing"):
        batch_overlaps(trunk, other[1:])


def test_mean_scores() -> None:
    assert mean_scores(history("ab", "c", "", scores=((0.25, 0.75), (0.5,), ()))) == (0.5, 0.5, None)
    with pytest.raises(UserError, match="the scores of round 1: number 2"):
        mean_scores(history("ab", scores=((0.5, math.nan),)))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_shares_are_the_counts_over_all(classes: list[int]) -> None:
    ids = [f"text-{at}" for at in range(len(classes))]
    labels = {id: CLASSES[label] for id, label in zip(ids, classes, strict=True)}
    counts = np.bincount(classes, minlength=4)
    assert class_shares(ids, labels, CLASSES) == pytest.approx((counts / counts.sum()).tolist())


def test_shares_of_little() -> None:
    assert class_shares([], {}, CLASSES) is None
    assert class_shares(["a", "b"], {"a": "x", "b": "x"}, ["x"]) == (1.0,)
    assert class_shares(["a", "a", "b"], {"a": "x", "b": "y"}, ["x", "y"]) == (2 / 3, 1 / 3)


def test_bad_labels() -> None:
    with pytest.raises(UserError, match="The label of 'a' is not known"):
        class_shares(["a"], {}, CLASSES)
    with pytest.raises(UserError, match="'a' has the label 'Weather'"):
        class_shares(["a"], {"a": "Weather"}, CLASSES)


@given(
    st.lists(
        st.tuples(
            st.lists(st.one_of(st.none(), st.floats(-1, 1)), max_size=6), st.one_of(st.none(), st.integers(1, 6))
        ),
        max_size=4,
    )
)
def test_before_and_after_together_are_all(runs: list[tuple[list[float | None], int | None]]) -> None:
    before, after = before_after([values for values, _ in runs], [t_star for _, t_star in runs])
    first = [v for values, t in runs for v in (values if t is None else values[:t]) if v is not None]
    later = [v for values, t in runs for v in ([] if t is None else values[t:]) if v is not None]
    for found, known in ((before, first), (after, later)):
        assert found.n == len(known)
        assert found.mean == (pytest.approx(np.mean(known), abs=1e-12) if known else None)
        assert found.sd == (pytest.approx(np.std(known, ddof=1), abs=1e-9) if len(known) > 1 else None)


def test_before_and_after_nothing() -> None:
    assert before_after([], []) == (Spread(0, None, None), Spread(0, None, None))
    assert before_after([[0.5]], [None]) == (Spread(1, 0.5, None), Spread(0, None, None))
    with pytest.raises(UserError, match="1 runs and 0 switch rounds"):
        before_after([[1.0]], [])
    with pytest.raises(UserError, match="the value of round 2"):
        before_after([[1.0, math.nan]], [None])
