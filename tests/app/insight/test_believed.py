from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.insight.believed import calibration
from hybridal.measures.calibration import reliability

guesses = st.lists(st.tuples(st.floats(0.5, 1.0), st.booleans()), min_size=1, max_size=50)


@given(guesses)
def test_the_bins_are_those_of_a_reliability_diagram(pairs: list[tuple[float, bool]]) -> None:
    sure = np.array([probability for probability, _ in pairs])
    wrong = np.array([int(not right) for _, right in pairs])
    # Of two classes, the first is the likelier one; it is right where the label is 0.
    expected = reliability(np.stack([sure, 1 - sure], axis=1), wrong, bins=10)
    found = calibration(pairs)
    assert [bin["n"] for bin in found] == expected.count.tolist()
    assert [bin["confidence"] for bin in found] == pytest.approx(expected.confidence.tolist())
    assert [bin["accuracy"] for bin in found] == pytest.approx(expected.accuracy.tolist())
    assert [bin["low"] for bin in found] == pytest.approx(expected.edges[:-1].tolist())
    assert [bin["high"] for bin in found] == pytest.approx(expected.edges[1:].tolist())


def test_nothing_gives_empty_bins() -> None:
    assert {bin["n"] for bin in calibration([])} == {0}
