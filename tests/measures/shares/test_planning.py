from __future__ import annotations

import numpy as np
import pytest

from hybridal.errors import UserError
from hybridal.measures.shares.estimators import estimate, share_of
from hybridal.measures.shares.planning import Precision, labels_needed, more_labels
from tests.measures.shares.populations import labelled, population


def test_with_as_many_labels_as_planned_the_interval_is_as_narrow_as_wanted() -> None:
    labels, predicted = population(4000, 0.3, 1.5, 0)
    order, target = np.random.default_rng(1).permutation(4000), share_of(np.ones(4000, dtype=bool))

    def half_width(n: int) -> float:
        found = estimate(labelled(labels, predicted, order[:n]), target)
        return float(found.high[0] - found.low[0]) / 2

    planned = labels_needed(Precision(half_width(100), 100, 4000), 0.03)
    assert 200 < planned < 1500
    assert half_width(planned) == pytest.approx(0.03, rel=0.12)


def test_the_smallest_group_decides() -> None:
    large, small = Precision(0.04, 100, 900), Precision(0.04, 100, 100)
    assert more_labels([large], 0.03) < more_labels([large, small], 0.03)
    assert more_labels([large, Precision(0.04, 10, 100)], 0.001) == 890  # no more than there are


def test_a_width_is_a_share() -> None:
    with pytest.raises(UserError, match="Half of the width"):
        more_labels([Precision(0.04, 100, 900)], 2)
