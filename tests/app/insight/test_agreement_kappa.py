import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from hybridal.app.insight.annotator_agreement import kappa
from hybridal.randomness import stream

PAIRS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=30)


@given(PAIRS)
def test_kappa_equals_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    found = kappa(one, other)
    if len({*one, *other}) == 1:
        assert found.kappa is None
    else:
        assert found.kappa == pytest.approx(cohen_kappa_score(one, other))
    assert found.agreed == pytest.approx(np.mean([a == b for a, b in pairs]))


def test_the_interval_is_that_of_texts_drawn_again() -> None:
    one, other = list("xxyyzxyzxx"), list("xyyyzxxzxy")
    found, drawn, values = kappa(one, other), stream(0, "kappa"), []
    for _ in range(20):
        for times in drawn.multinomial(10, np.full(10, 0.1), size=100):
            pairs = [(one[at], other[at]) for at in np.repeat(np.arange(10), times)]
            agreed = sum(a == b for a, b in pairs) / 10
            chance = sum(a == b for a, _ in pairs for _, b in pairs) / 100
            if chance < 1:
                values.append((agreed - chance) / (1 - chance))
    assert [found.low, found.high] == pytest.approx(np.quantile(values, [0.025, 0.975]).tolist())


def test_kappa_without_texts_is_none() -> None:
    assert kappa([], []).kappa is None
    assert kappa(["x"], ["y"]).low is None
