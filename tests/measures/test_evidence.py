from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hybridal.core.label_sets import LabelSets
from hybridal.errors import UserError
from hybridal.measures.evidence import Evidence, answer_confidence
from hybridal.measures.objective import MultiLabel, SingleLabel


def perfect(n: int, confidence: float = 1.0) -> Evidence:
    sure = np.full(n, confidence)
    return Evidence(sure, np.ones(n, dtype=bool), np.ones(n), sure, multi_label=False)


def test_one_label_per_text() -> None:
    logits = np.log([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    found = Evidence.of(SingleLabel(3), logits, np.array([0, 2, 2]), logits[:1])
    assert found.confidences.tolist() == pytest.approx([0.7, 0.5, 0.8])
    assert found.right.tolist() == [True, False, True]
    assert found.lowest.tolist() == pytest.approx([1.0, 0.3, 1.0])
    assert found.unlabelled.tolist() == pytest.approx([0.7])


def test_the_temperature_is_that_of_the_predictions() -> None:
    logits = np.array([[0.0, 2.0]])
    found = Evidence.of(SingleLabel(2), logits, np.array([1]), logits, temperature=2.0)
    assert found.confidences.tolist() == pytest.approx([1 / (1 + np.exp(-1.0))], abs=1e-6)


def test_several_labels_are_right_if_all_are_and_partly_known_texts_do_not_count() -> None:
    sets = LabelSets(2)
    both, first = sets.number((0, 1)), sets.number((0,))
    partly = sets.number((0,), ())  # of the other class nothing is known
    logits = np.array([[3.0, 1.0], [3.0, 1.0], [3.0, 1.0]])
    labels = np.array([both, first, partly])
    found = Evidence.of(MultiLabel(sets), logits, labels, logits, thresholds=(0.5, 0.5))
    assert found.right.tolist() == [True, False]
    assert found.multi_label


def test_the_confidence_of_a_set_is_that_of_all_its_decisions() -> None:
    assert answer_confidence(np.array([[0.9, 0.3], [0.4, 0.3]]), [0.5, 0.2]).tolist() == pytest.approx([0.27, 0.18])
    assert answer_confidence(np.empty((0, 3))).tolist() == []


def test_if_all_texts_are_labelled_the_random_ones_stand_for_the_others() -> None:
    logits = np.array([[0.0, 2.0], [0.0, 1.0]])
    found = Evidence.of(SingleLabel(2), logits, np.array([1, 1]), logits[:0])
    assert found.unlabelled.tolist() == found.confidences.tolist()


def test_it_survives_json() -> None:
    before = perfect(160, 0.9)
    after = Evidence.from_json(json.loads(json.dumps(before.to_json())))
    assert after.promise(0.02) == before.promise(0.02)
    assert after.set_rule(0.95) == before.set_rule(0.95)
    assert after.to_json() == before.to_json()


def test_new_texts_are_compared_with_those_of_the_random_labels() -> None:
    logits = np.random.default_rng(0).normal(size=(300, 3)) * [1, 0.01, 3]
    before = Evidence.of(SingleLabel(3), logits[:150], np.zeros(150, dtype=int), logits[:9])
    after = Evidence.from_json(json.loads(json.dumps(before.to_json())))
    probabilities = SingleLabel(3).probabilities(logits[150:])
    same, other = after.shift(probabilities), after.shift(np.roll(probabilities, 1, axis=1))
    assert same == before.shift(probabilities)
    assert same is not None
    assert not same.is_likely
    assert other is not None
    assert other.is_likely
    assert perfect(9).shift(probabilities) is None, "exported by an earlier version"


def test_of_many_classes_those_with_the_highest_probabilities_are_compared() -> None:
    logits = np.zeros((5, 60))
    logits[:, 30:50] = 2.0
    found = Evidence.of(SingleLabel(60), logits, np.zeros(5, dtype=int), logits)
    assert found.columns == tuple(range(30, 50))
    shift = found.shift(SingleLabel(60).probabilities(np.roll(logits, 10, axis=1)))
    assert shift is not None
    assert 30 <= shift.column < 40


@pytest.mark.parametrize(
    "change",
    [
        {"right": [1]},
        {"columns": [0], "probabilities": [[1]]},
        {"lowest": None},
        {"unlabelled": [2.0]},
        {"confidences": "x"},
    ],
)
def test_damaged_json_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no list of numbers"):
        Evidence.from_json({**perfect(3).to_json(), **change})
    with pytest.raises(ValueError, match="no list of numbers"):
        Evidence.from_json({})


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (perfect(40), "it takes about 154, and never fewer than 154. Label more texts at random."),
        (perfect(40, 0.8), "the model is not sure enough of its answers."),
        (
            Evidence(np.ones(500), np.zeros(500, bool), np.zeros(500), np.ones(500), False),
            "the surest answers are wrong too often.",
        ),
    ],
)
def test_it_says_why_nothing_can_be_promised(evidence: Evidence, reason: str) -> None:
    with pytest.raises(UserError) as raised:
        evidence.kept_promise(0.02)
    assert reason in str(raised.value)
    assert str(raised.value).startswith("At most 2% wrong cannot be promised with 95% confidence by ")
    assert raised.value.field == "max_error"


def test_sets_say_how_many_labels_they_take() -> None:
    with pytest.raises(UserError, match="by 58 random labels that the model has not learnt: it takes at least 59"):
        perfect(58).kept_rule(0.95)
    assert perfect(59).kept_rule(0.95).threshold == 1.0
