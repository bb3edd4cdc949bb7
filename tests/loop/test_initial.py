from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybridal.core.outputs import UNKNOWN
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.initial import draw_initial
from hybridal.tasks.task import Split, Task


def task_of(labels: list[int], classes: int = 3) -> Task:
    train = Split([f"t{i}" for i in range(len(labels))], ["text"] * len(labels), np.array(labels, dtype=np.int64))
    return Task("made up", tuple("abcdef"[:classes]), train, Split.empty(), Split.empty())


def rules(initial: int, draw: str = "equal") -> Rules:
    return replace(Rules(), initial=initial, initial_draw=draw)  # type: ignore[arg-type]


def largest_remainders(initial: int, shares: list[Fraction]) -> list[int]:
    """Whole parts first; what is left over goes to the largest fractions, of equal ones to the first class."""
    counts = [int(initial * share) for share in shares]
    by_fraction = sorted(range(len(shares)), key=lambda c: (counts[c] - initial * shares[c], c))
    for c in by_fraction[: initial - sum(counts)]:
        counts[c] += 1
    return counts


@settings(deadline=None)
@given(
    available=st.lists(st.integers(0, 40), min_size=2, max_size=6).filter(lambda sizes: sum(sizes) > 1),
    data=st.data(),
    draw=st.sampled_from(["equal", "proportional"]),
    seed=st.integers(0, 5),
)
def test_each_class_gets_its_share(available: list[int], data: st.DataObject, draw: str, seed: int) -> None:
    total, classes = sum(available), len(available)
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(classes), available)).tolist()
    initial = data.draw(st.integers(1, total - 1))
    shares = [Fraction(1, classes) if draw == "equal" else Fraction(n, total) for n in available]
    expected = largest_remainders(initial, shares)
    task = task_of(labels, classes)
    short = [c for c in range(classes) if expected[c] > available[c]]
    if short:
        with pytest.raises(
            UserError, match=f"Class '{task.classes[short[0]]}' of task 'made up' has {available[short[0]]}"
        ):
            draw_initial(task, rules(initial, draw), seed)
        return
    drawn = draw_initial(task, rules(initial, draw), seed).tolist()
    assert len(set(drawn)) == initial
    assert [sum(labels[row] == c for row in drawn) for c in range(classes)] == expected


# 10 · 1/3 and 10 · 2/15 leave the same fraction, a third: as floats, 3.333… - 3 is the larger of the two.
@settings(deadline=None)
@example(available=[2, 5, 8], initial=10)
@given(available=st.lists(st.integers(1, 60), min_size=2, max_size=5), initial=st.integers(1, 60))
def test_equal_fractions_are_equal(available: list[int], initial: int) -> None:
    total = sum(available)
    initial = min(initial, total - 1)
    labels = np.repeat(np.arange(len(available)), available)
    drawn = draw_initial(task_of(labels.tolist(), len(available)), rules(initial, "proportional"), 1)
    counts = np.bincount(labels[drawn], minlength=len(available)).tolist()
    assert counts == largest_remainders(initial, [Fraction(n, total) for n in available])


def test_draw_depends_on_the_seed() -> None:
    task = task_of([0, 1, 2] * 30)
    one, again, other = (draw_initial(task, rules(12), seed).tolist() for seed in (1, 1, 2))
    assert one == again
    assert sorted(one) != sorted(other)


def test_classes_are_mixed_in_the_order_of_the_draw() -> None:
    labels = np.array([0, 1, 2] * 30)
    drawn = labels[draw_initial(task_of(labels.tolist()), rules(30), 1)].tolist()
    assert drawn != sorted(drawn)


@pytest.mark.parametrize("initial", [1, 2, 50])
def test_labels_that_came_with_some_texts_are_the_start(initial: int) -> None:
    labels = [UNKNOWN, 2, UNKNOWN, UNKNOWN, 0]
    assert sorted(draw_initial(task_of(labels), rules(initial), 1).tolist()) == [1, 4]


def test_without_labels_the_draw_is_random() -> None:
    task = task_of([UNKNOWN] * 40)
    drawn = draw_initial(task, rules(10), 1).tolist()
    assert len(set(drawn)) == 10
    assert set(drawn) <= set(range(40))
    assert drawn == draw_initial(task, rules(10), 1).tolist()
    assert sorted(drawn) != sorted(draw_initial(task, rules(10), 2).tolist())


@pytest.mark.parametrize("label", [0, UNKNOWN])
def test_too_few_texts_are_refused(label: int) -> None:
    with pytest.raises(UserError, match=r"Task 'made up' has 10 texts .* initial pool of 10; add texts or lower"):
        draw_initial(task_of([label] * 10), rules(10), 1)


def test_random_draw_does_not_depend_on_labels() -> None:
    labels = [0] * 30 + [1] * 10
    drawn = draw_initial(task_of(labels), rules(10, "random"), 1).tolist()
    assert drawn == draw_initial(task_of([UNKNOWN] * 40, 2), rules(10), 1).tolist()
