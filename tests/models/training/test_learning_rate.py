from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.rules import Rules, protocol
from hybridal.models.training.learning_rate import rates, varies


def rules(**changes: Any) -> Rules:
    return protocol("paper", {"learning_rate": 2.0, **changes})


def test_the_rate_of_the_paper_is_constant() -> None:
    assert rates(3, rules()).tolist() == [2.0, 2.0, 2.0]
    assert not varies(rules())


def test_a_warm_up_rises_to_the_rate_and_stays() -> None:
    assert rates(6, rules(warmup=0.5)).tolist() == pytest.approx([2 / 3, 4 / 3, 2, 2, 2, 2])


def test_linear_decay_falls_from_the_rate_towards_0() -> None:
    assert rates(4, rules(decay=True)).tolist() == [2.0, 1.5, 1.0, 0.5]


@given(st.integers(0, 60), st.floats(0, 1), st.booleans())
def test_rates_are_positive_and_rise_before_they_fall(steps: int, warmup: float, decay: bool) -> None:
    found = rates(steps, rules(warmup=warmup, decay=decay))
    assert len(found) == steps
    assert ((found > 0) & (found <= 2.0 + 1e-12)).all()
    if steps:
        top = int(found.argmax())
        assert (np.diff(found[: top + 1]) >= 0).all()
        assert (np.diff(found[top:]) <= 1e-12).all()
        assert found[top] == pytest.approx(2.0)
