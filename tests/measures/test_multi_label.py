from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit
from sklearn import metrics as reference

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures import multi_label

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(scale=2, size=(60, 6))
TARGETS = (RNG.random((60, 6)) < [0.5, 0.3, 0.2, 0.1, 0.05, 0.0]).astype(float)
DECISIONS = LOGITS > 0.5


def test_probabilities_are_logistic_and_do_not_overflow() -> None:
    np.testing.assert_allclose(multi_label.sigmoid(LOGITS, 2.0), expit(LOGITS / 2))
    assert multi_label.sigmoid(np.array([[-1e4, 1e4]])).tolist() == [[0.0, 1.0]]


def test_the_likelihood_is_that_of_scikit_learn() -> None:
    expected = reference.log_loss(TARGETS.ravel(), expit(LOGITS).ravel())
    assert multi_label.decision_nll(LOGITS, TARGETS) == pytest.approx(expected)
    assert multi_label.total_nll(LOGITS, TARGETS) == pytest.approx(expected * TARGETS.size)


def test_f1_scores_are_those_of_scikit_learn() -> None:
    macro, micro = multi_label.f1_scores(DECISIONS, TARGETS)
    present = np.flatnonzero(TARGETS.sum(axis=0))
    assert len(present) == 5  # the last class has no text, and is not counted
    expected = reference.f1_score(TARGETS, DECISIONS, average="macro", labels=present)
    assert macro == pytest.approx(expected)
    assert micro == pytest.approx(reference.f1_score(TARGETS, DECISIONS, average="micro"))


def test_other_metrics_are_those_of_scikit_learn() -> None:
    probabilities = expit(LOGITS)
    assert multi_label.hamming_loss(DECISIONS, TARGETS) == pytest.approx(reference.hamming_loss(TARGETS, DECISIONS))
    share = multi_label.exact_matches(DECISIONS, TARGETS) / len(TARGETS)
    assert share == pytest.approx(reference.accuracy_score(TARGETS, DECISIONS))
    expected = reference.label_ranking_average_precision_score(TARGETS, probabilities)
    assert multi_label.label_ranking_precision(probabilities, TARGETS) == pytest.approx(expected)
    expected = reference.brier_score_loss(TARGETS.ravel(), probabilities.ravel())
    assert multi_label.decision_brier(probabilities, TARGETS) == pytest.approx(expected)


def test_ties_in_the_ranking_are_those_of_scikit_learn() -> None:
    tied = np.round(expit(LOGITS), 1)
    expected = reference.label_ranking_average_precision_score(TARGETS, tied)
    assert multi_label.label_ranking_precision(tied, TARGETS) == pytest.approx(expected)


def test_the_calibration_error_by_hand() -> None:
    probabilities = np.array([[0.05, 0.95], [0.05, 0.95]])
    assert multi_label.decision_ece(probabilities, np.array([[0.0, 1.0], [1.0, 1.0]])) == pytest.approx(0.25)


def test_unknown_decisions_are_left_out_of_every_figure() -> None:
    holes = np.where(RNG.random(TARGETS.shape) < 0.3, np.nan, TARGETS)
    known = ~np.isnan(holes)
    probabilities, true = expit(LOGITS), TARGETS[known]
    assert multi_label.decision_nll(LOGITS, holes) == pytest.approx(reference.log_loss(true, probabilities[known]))
    wrong = float((DECISIONS[known] != true).mean())
    assert multi_label.hamming_loss(DECISIONS, holes) == pytest.approx(wrong)
    micro = multi_label.f1_scores(DECISIONS, holes)[1]
    assert micro == pytest.approx(reference.f1_score(true, DECISIONS[known]))
    flipped = np.where(known, DECISIONS, ~DECISIONS)
    for metric in (multi_label.hamming_loss, multi_label.exact_matches, multi_label.f1_scores):
        assert metric(flipped, holes) == metric(DECISIONS, holes)


@pytest.mark.parametrize("metric", [multi_label.decision_nll, multi_label.decision_ece, multi_label.decision_brier])
def test_nothing_to_measure_on_is_refused(metric: Callable[[Floats, Floats], float]) -> None:
    with pytest.raises(UserError, match=r"^There are no labelled examples"):
        metric(np.empty((0, 3)), np.empty((0, 3)))
    with pytest.raises(UserError, match=r"^There are no known decisions"):
        metric(np.zeros((1, 3)), np.full((1, 3), np.nan))
    with pytest.raises(UserError, match=r"shape \(2, 3\)"):
        metric(np.zeros((1, 3)), np.zeros((2, 3)))
