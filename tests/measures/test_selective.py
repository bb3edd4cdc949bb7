from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures.error_tests import labels_for
from hybridal.measures.selective import (
    Promise,
    candidate_thresholds,
    fallback,
    favoured_confidence,
    labels_needed,
    promise,
)

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def texts(n: int, seed: int, sure: float = 8.0) -> tuple[Floats, np.ndarray]:
    """Confidences that are right, and answers that follow them."""
    rng = np.random.default_rng(seed)
    confidences = rng.beta(sure, 0.4, n)
    return confidences, rng.random(n) < confidences


def broken(found: Promise, sure: float) -> bool:
    """Whether the answered ones of very many texts have more errors than promised."""
    confidences, _ = texts(20_000, 99, sure)
    answered = confidences[found.answers(confidences)]
    return bool(len(answered) and np.mean(1 - answered) > found.max_error)


@pytest.mark.parametrize("sure", [4.0, 8.0])
def test_few_promises_are_broken(sure: float) -> None:
    found = []
    for seed in range(60):
        confidences, right = texts(300, seed, sure)
        found.append(promise(confidences, right, texts(500, 1000 + seed, sure)[0], 0.05))
    assert np.mean([broken(each, sure) for each in found]) <= 0.12  # 5% and about two standard errors
    assert np.mean([each.share for each in found]) > 0.1


def test_wrong_confidences_answer_fewer_texts_and_break_no_promise() -> None:
    """Over-confident, and in the wrong order: the least sure answers are the best ones."""
    for seed in range(30):
        confidences, right = texts(300, seed)
        found = promise(1 - confidences, right, 1 - texts(500, 1000 + seed)[0], 0.05)
        assert not found.share or not broken_backwards(found)


def broken_backwards(found: Promise) -> bool:
    confidences, _ = texts(20_000, 99)
    answered = confidences[found.answers(1 - confidences)]
    return bool(len(answered) and np.mean(1 - answered) > found.max_error)


def test_one_label_fewer_than_needed_promises_nothing() -> None:
    sure = np.ones(154)
    assert promise(sure, np.ones(154, dtype=bool), sure, 0.02).share == 1.0
    nothing = promise(sure[:150], np.ones(150, dtype=bool), sure, 0.02)
    assert nothing.threshold is None
    assert nothing.share == 0.0
    assert not nothing.answers(sure).any()


def test_without_unlabelled_texts_nothing_is_promised() -> None:
    sure = np.ones(500)
    assert promise(sure, sure > 0, np.empty(0), 0.02).threshold is None
    assert labels_needed(np.empty(0), 0.02) is None


def test_looking_often_answers_no_more_texts() -> None:
    confidences, right = texts(400, 3)
    others = texts(500, 4)[0]
    once, often = (promise(confidences, right, others, 0.05, many_looks=many) for many in (False, True))
    assert often.share <= once.share


@given(P_VALUES, st.data())
def test_the_fallback_procedure_is_its_definition(p_values: list[float], data: st.DataObject) -> None:
    weights = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=len(p_values), max_size=len(p_values))))
    weights /= weights.sum()
    found = fallback(p_values, weights, 0.05)
    for number in range(len(p_values)):
        run = 0  # the rejected ones just before
        while number > run and found[number - run - 1]:
            run += 1
        level = 0.05 * sum(weights[number - run : number + 1].tolist())
        if abs(p_values[number] - level) > 1e-12:
            assert found[number] == (p_values[number] < level)


def test_fixed_sequence_testing_stops_at_the_first_failure() -> None:
    assert fallback([0.01, 0.04, 0.2, 0.0], [1.0, 0.0, 0.0, 0.0], 0.05).tolist() == [True, True, False, True]
    assert fallback([0.01, 0.04, 0.2, 0.001], [1.0, 0.0, 0.0, 0.0], 0.05).tolist()[3] is False


@settings(max_examples=30)
@given(st.lists(st.floats(0.3, 1.0), min_size=1, max_size=60), st.integers(30, 900))
def test_thresholds_fall_and_the_last_answers_everything(others: list[float], labels: int) -> None:
    thresholds = candidate_thresholds(np.array(others), labels, 0.1, 0.95)
    if labels >= labels_for(0.1, favoured_confidence(0.95)):
        assert thresholds[-1] == min(others)
        assert (np.diff(thresholds) < 0).all()
    else:
        assert not len(thresholds)


def test_the_labels_that_are_said_to_be_needed_suffice_mostly() -> None:
    others = texts(2000, 5)[0]
    needed = labels_needed(others, 0.05)
    assert needed is not None
    kept = [promise(*texts(needed, seed), others, 0.05).share > 0 for seed in range(60)]
    assert 0.6 < np.mean(kept) < 0.97


@pytest.mark.parametrize(("limit", "confidence"), [(2.0, 0.95), (0.0, 0.95), (0.02, 95.0)])
def test_a_limit_in_percent_is_refused(limit: float, confidence: float) -> None:
    with pytest.raises(UserError, match=r"must be a share between 0 and 1, such as 0\.95 for 95%"):
        promise(np.ones(300), np.ones(300, dtype=bool), np.ones(9), limit, confidence)
