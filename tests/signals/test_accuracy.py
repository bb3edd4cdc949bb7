from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.label_sets import LabelSets
from hybridal.errors import UserError
from hybridal.signals import Snapshot
from hybridal.signals.accuracy import Accuracy
from hybridal.signals.f1 import F1
from hybridal.testing import FakeModel


def counts(right: int, n: int) -> Snapshot:
    return {"right": np.array(right), "n": np.array(n)}


def test_accuracy_snapshot_is_a_count() -> None:
    model = FakeModel(logits=[[0, 1], [0, 1], [1, 0]], labels=[1, 0, 0])
    assert {key: int(value) for key, value in Accuracy().snapshot(model).items()} == {"right": 2, "n": 3}


def test_an_empty_validation_set_is_refused() -> None:
    with pytest.raises(UserError, match="no labelled examples"):
        Accuracy().snapshot(FakeModel(logits=np.empty((0, 2)), labels=[]))


def test_with_several_labels_decisions_are_counted() -> None:
    sets = LabelSets(2)
    labels = [sets.number([0, 1]), sets.number([]), sets.number([0])]
    logits = [[9, 9], [-9, -9], [9, 9]]
    model = FakeModel(logits=logits, labels=labels, label_sets=sets)
    assert {key: int(value) for key, value in Accuracy().snapshot(model).items()} == {"right": 5, "n": 6}
    assert F1().snapshot(model)["f1"] == pytest.approx((1 + 2 / 3) / 2)
    for signal in (Accuracy(), F1()):
        with pytest.raises(UserError, match="no labelled examples"):
            signal.snapshot(FakeModel(logits=np.empty((0, 2)), labels=[], label_sets=sets))


@pytest.mark.parametrize("right", range(0, 1195, 7))
def test_six_of_1200_is_never_below_half_a_percent(right: int) -> None:
    change = Accuracy().change(counts(right, 1200), counts(right + 6, 1200))
    assert not change < Accuracy.epsilon
    assert Accuracy().change(counts(right, 1200), counts(right + 5, 1200)) < Accuracy.epsilon


@given(st.integers(1, 10**6), st.data())
def test_accuracy_change_is_the_nearest_float(n: int, data: st.DataObject) -> None:
    one, two = (data.draw(st.integers(0, n)) for _ in range(2))
    change = Accuracy().change(counts(one, n), counts(two, n))
    exact = abs(Fraction(one, n) - Fraction(two, n))
    assert all(
        abs(Fraction(change) - exact) <= abs(Fraction(float(np.nextafter(change, side))) - exact) for side in (-1, 2)
    )
