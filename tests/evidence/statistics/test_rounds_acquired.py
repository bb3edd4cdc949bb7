import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jaccard as scipy_jaccard

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import Spread
from hybridal.evidence.statistics.rounds import (
    batch_overlaps,
    before_after,
    class_shares,
    jaccard,
    mean_scores,
)

from .samples import run_of

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
