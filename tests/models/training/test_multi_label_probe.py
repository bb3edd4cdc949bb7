from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.multi_label import decision_nll
from hybridal.measures.objective import MultiLabel
from hybridal.models.training.probe import MULTI_LABEL_PRIOR, ProbeFitter, cross_fitted, fit_probe


def blobs(seed: int, size: int, classes: int, width: int = 6) -> tuple[Floats, Ints, MultiLabel]:
    """Features that are a sum of one direction for each class that a text has, and noise."""
    rng, sets = np.random.default_rng(seed), LabelSets(classes)
    present = rng.random((size, classes)) < 0.3
    directions = rng.normal(size=(classes, width))
    features = present @ directions + rng.normal(scale=0.5, size=(size, width))
    labels = np.array([sets.number(np.flatnonzero(row).tolist()) for row in present], dtype=np.int64)
    return features, labels, MultiLabel(sets)


@pytest.mark.parametrize("penalty", [0.3, 3.0, 30.0])
def test_each_class_is_a_logistic_regression_of_its_own(penalty: float) -> None:
    features, labels, objective = blobs(1, 80, 4)
    targets = objective.targets(labels)
    found = fit_probe(features, labels, objective, penalty)
    rate = (targets.sum() + 1) / (targets.size + 2)
    centre = features.mean(axis=0)
    points = np.vstack([features, centre, centre])
    weights = np.append(np.ones(80), [MULTI_LABEL_PRIOR * rate, MULTI_LABEL_PRIOR * (1 - rate)])
    for number in range(4):
        reference = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=5000)
        reference.fit(points, np.append(targets[:, number], [1, 0]), sample_weight=weights)
        np.testing.assert_allclose(found.weight[number], reference.coef_[0], atol=5e-3)
        assert found.bias[number] == pytest.approx(reference.intercept_[0], abs=5e-3)


def test_classes_of_no_text_and_of_every_text_are_possible() -> None:
    features, _, objective = blobs(2, 20, 3)
    labels = np.full(20, objective.sets.number([0]))
    found = objective.probabilities(fit_probe(features, labels, objective).logits(features))
    assert (found[:, 0] > 0.9).all()
    assert ((found[:, 1:] > 0) & (found[:, 1:] < 0.1)).all()


def test_unknown_decisions_do_not_count() -> None:
    features, labels, objective = blobs(3, 40, 3)
    holes = labels.copy()
    for row in range(0, 40, 2):
        present = [c for c in objective.sets.present(labels[row]) if c != 2]
        holes[row] = objective.sets.number(present, absent=[c for c in (0, 1) if c not in present])
    found, whole = (fit_probe(features, some, objective).weight for some in (holes, labels))
    np.testing.assert_allclose(found[:2], whole[:2], atol=5e-3)
    assert np.abs(found[2] - whole[2]).max() > 0.01


def test_descriptions_are_examples_of_only_their_class() -> None:
    features, labels, objective = blobs(4, 30, 3)
    described = features[:3] + 1.0, np.arange(3)
    found = fit_probe(features, labels, objective, 3.0, described)
    by_hand = fit_probe(np.vstack([features, described[0]]), np.append(labels, [0, 1, 2]), objective, 3.0)
    np.testing.assert_array_equal(found.weight, by_hand.weight)


def test_cross_fitting_never_sees_the_labels_that_it_predicts() -> None:
    features, labels, objective = blobs(5, 40, 3)
    before = cross_fitted(features, labels, objective, np.random.default_rng(1), 5, [3.0])[0]
    other = labels.copy()
    other[7] = objective.sets.number([c for c in range(3) if c not in objective.sets.present(labels[7])])
    after = cross_fitted(features, other, objective, np.random.default_rng(1), 5, [3.0])[0]
    np.testing.assert_allclose(after[7], before[7], atol=1e-6)
    assert np.abs(after - before).max() > 1e-3


def test_the_chosen_penalty_is_better_than_none_on_noise() -> None:
    features, labels, objective = blobs(6, 60, 5, width=40)
    shuffled = np.random.default_rng(0).permutation(labels)
    chosen = ProbeFitter(0).best(features, shuffled, objective)
    unpenalised = fit_probe(features, shuffled, objective, 0.1)
    test_features, test_labels, _ = blobs(6, 60, 5, width=40)
    targets = objective.targets(np.random.default_rng(1).permutation(test_labels))
    assert decision_nll(chosen.logits(test_features), targets) < decision_nll(
        unpenalised.logits(test_features), targets
    )
