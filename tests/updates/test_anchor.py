from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hybridal.errors import UserError
from hybridal.updates import UPDATES
from hybridal.updates.anchor import Anchor

from .conftest import LAST, PRETRAINED, Situate


@pytest.mark.parametrize("share", [0, 0.25, 0.6, 1])
def test_anchor_starts_between_pretrained_and_last_weights(situate: Situate, share: float) -> None:
    plan = Anchor(share).plan(situate())
    assert set(plan.weights) == set(PRETRAINED)
    for name, first in PRETRAINED.items():
        for got, a, b in zip(plan.weights[name].flat, first.flat, LAST[name].flat, strict=True):
            assert got == pytest.approx(float((1 - Fraction(share)) * Fraction(a) + Fraction(share) * Fraction(b)))
    assert plan.rows.tolist() == [4, 1, 0, 5, 2]
    assert (plan.batch, plan.moments, plan.keeps_moments) == (None, None, False)


def test_neither_end_is_changed(situate: Situate) -> None:
    before = [values.tolist() for weights in (PRETRAINED, LAST) for values in weights.values()]
    Anchor(0.5).plan(situate())
    assert [values.tolist() for weights in (PRETRAINED, LAST) for values in weights.values()] == before


def test_no_share_of_the_last_weights_is_retraining_exactly(situate: Situate) -> None:
    weights = Anchor(0).plan(situate()).weights
    assert all(np.array_equal(weights[name], PRETRAINED[name]) for name in PRETRAINED)


def test_the_first_round_has_only_one_end(situate: Situate) -> None:
    now = situate(first=True)
    assert Anchor(0.5).plan(now).weights is now.start()


@pytest.mark.parametrize(("dropout", "expected"), [("on", True), ("off", False), ("finetune", False)])
def test_dropout_is_off_where_only_fine_tuning_has_it(situate: Situate, dropout: str, expected: bool) -> None:
    assert Anchor().plan(situate(dropout=dropout)).dropout is expected


@pytest.mark.parametrize("share", ["-0.1", "1.1", "nan", "inf", "half"])
def test_a_share_outside_of_0_to_1_is_refused(share: str) -> None:
    with pytest.raises(UserError, match=f"'anchor:{share}' is not a valid spec"):
        UPDATES.make(f"anchor:{share}")


@pytest.mark.parametrize(("one", "two"), [(1, 1.0), (0, 0.0)])
def test_equal_anchors_have_the_same_letter(one: int, two: float) -> None:
    assert Anchor(one) == Anchor(two)
    assert (Anchor(one).letter, Anchor(one).spec) == (Anchor(two).letter, Anchor(two).spec)
