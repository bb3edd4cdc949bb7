from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from hybridal.core.outputs import Floats, Ints
from hybridal.measures.calibration import log_softmax, softmax
from hybridal.measures.objective import SingleLabel
from hybridal.models.training import probe
from hybridal.models.training.probe import (
    DESCRIPTION_WEIGHT,
    PENALTIES,
    PRIOR,
    ProbeFitter,
    best_penalty,
    cross_fitted,
    descriptions_mislead,
    fit_probe,
    last_growth,
)


def blobs(seed: int, size: int, classes: int, width: int = 6, noise: float = 1.0) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=size)
    return rng.normal(size=(classes, width))[labels] * 2 + noise * rng.normal(size=(size, width)) + 5, labels


@pytest.mark.parametrize(("classes", "size", "penalty"), [(2, 30, 1.0), (3, 80, 10.0), (7, 12, 0.3)])
def test_the_weights_of_scikit_learn(classes: int, size: int, penalty: float) -> None:
    """It gets the prior of each class, a share of a label, as examples of little weight."""
    features, labels = blobs(1, size, classes)
    points = np.vstack([features, np.tile(features.mean(axis=0), (classes, 1))])
    weights = [*np.ones(size), *np.full(classes, PRIOR)]
    known = np.concatenate([labels, np.arange(classes)])
    # With two classes scikit-learn has one row of weights, the difference of ours; its square counts half as much.
    C = (2 if classes == 2 else 1) / penalty
    expected = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(points, known, sample_weight=weights)
    found = fit_probe(features, labels, SingleLabel(classes), penalty)
    np.testing.assert_allclose(softmax(found.logits(features)), expected.predict_proba(features), atol=1e-3)


def test_a_class_without_labels_is_possible_and_unlikely() -> None:
    features, labels = blobs(2, 40, 3)
    found = softmax(fit_probe(features, np.where(labels == 2, 0, labels), SingleLabel(5)).logits(features))
    assert np.isfinite(found).all()
    assert (found[:, 2:] > 0).all()
    assert found[:, 2:].mean() < 0.02


@pytest.mark.parametrize("labels", [[0], [1, 1, 1]])
def test_a_single_class_can_be_learnt(labels: list[int]) -> None:
    features = np.random.default_rng(0).normal(size=(len(labels), 4))
    found = ProbeFitter(0).best(features, np.array(labels), SingleLabel(3)).logits(features)
    assert (found.argmax(axis=1) == labels).all()


def test_repeated_text_can_be_fitted() -> None:
    features = np.tile(np.random.default_rng(0).normal(size=4), (20, 1))
    found = softmax(fit_probe(features, np.arange(20) % 4 // 3, SingleLabel(2)).logits(features[:1]))
    assert found[0, 0] == pytest.approx((15 + PRIOR) / (20 + 2 * PRIOR), abs=0.01)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99), st.integers(2, 5), st.sampled_from(PENALTIES))
def test_probe_is_the_optimum(seed: int, classes: int, penalty: float) -> None:
    features, labels = blobs(seed, 30, classes)

    def cost(weight: Floats, bias: Floats) -> float:
        points = np.vstack([features, np.tile(features.mean(axis=0), (classes, 1))])
        logs = np.log(softmax(points @ weight.T + bias))
        own = logs[np.arange(len(points)), [*labels, *range(classes)]]
        return float(penalty / 2 * (weight**2).sum() - own[:30].sum() - PRIOR * own[30:].sum())

    found, rng = fit_probe(features, labels, SingleLabel(classes), penalty), np.random.default_rng(seed)
    least = cost(found.weight, found.bias)
    for size in (1e-2, 1e-1):
        step = rng.normal(size=found.weight.shape), rng.normal(size=found.bias.shape)
        assert cost(found.weight + size * step[0], found.bias + size * step[1]) > least


def test_the_order_of_the_labels_does_not_matter() -> None:
    features, labels = blobs(3, 50, 3)
    order = np.random.default_rng(0).permutation(50)
    one, other = fit_probe(features, labels, SingleLabel(3)), fit_probe(features[order], labels[order], SingleLabel(3))
    np.testing.assert_allclose(one.weight, other.weight, atol=1e-4)


def test_probe_is_repeatable() -> None:
    features, labels = blobs(4, 60, 3)
    one, other = (ProbeFitter(9).best(features, labels, SingleLabel(3)) for _ in range(2))
    assert (one.weight == other.weight).all()
    assert (one.bias == other.bias).all()


def test_cross_fitting_never_sees_the_label_that_it_predicts() -> None:
    features, labels = blobs(5, 40, 2)
    before = cross_fitted(features, labels, SingleLabel(2), np.random.default_rng(1), 5, [1.0, 10.0])
    for row in range(0, 40, 7):
        other = labels.copy()
        other[row] = 1 - other[row]
        after = cross_fitted(features, other, SingleLabel(2), np.random.default_rng(1), 5, [1.0, 10.0])
        assert (after[:, row] == before[:, row]).all()
        assert (after != before).any()


def test_noise_asks_for_a_larger_penalty_than_clear_classes() -> None:
    clear = best_penalty(*blobs(6, 200, 4, noise=0.3), SingleLabel(4), seed=0)
    features, labels = blobs(6, 200, 4, width=40)
    assert clear < best_penalty(features, np.random.default_rng(1).permutation(labels), SingleLabel(4), seed=0)


def test_penalties_are_fitted_together_nearly_as_separately() -> None:
    features, labels = blobs(7, 90, 3)
    found = cross_fitted(features, labels, SingleLabel(3), np.random.default_rng(2), 3, PENALTIES)
    for number, penalty in enumerate(PENALTIES):
        alone = cross_fitted(features, labels, SingleLabel(3), np.random.default_rng(2), 3, [penalty])
        np.testing.assert_allclose(softmax(found[number]), softmax(alone[0]), atol=0.01)


@given(st.integers(0, 5000))
def test_penalty_is_chosen_again_when_labels_grow_by_a_quarter(labels: int) -> None:
    known = last_growth(labels)
    assert known <= labels < max(10, 1.25 * known + 1)
    assert last_growth(known) == known


def test_fewer_new_labels_keep_the_penalty() -> None:
    features, labels = blobs(8, 60, 4)
    known = last_growth(60)
    assert known < 60
    assert best_penalty(features, labels, SingleLabel(4), 1) == best_penalty(
        features[:known], labels[:known], SingleLabel(4), 1
    )


def test_warm_started_probes_equal_probes_from_scratch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, labels = blobs(9, 60, 4)
    prober, chosen = ProbeFitter(3), list[int]()

    def counted(features: Floats, labels: Ints, *others: Any) -> float:
        chosen.append(len(labels))
        return best_penalty(features, labels, *others)

    monkeypatch.setattr(probe, "best_penalty", counted)
    for known in range(1, 61):
        found = prober.best(features[:known], labels[:known], SingleLabel(4))
        penalty = best_penalty(features[:known], labels[:known], SingleLabel(4), 3)
        expected = fit_probe(features[:known], labels[:known], SingleLabel(4), penalty)
        assert (found.penalty, found.weight.tolist()) == (expected.penalty, expected.weight.tolist())
    assert chosen == [1, 10, 12, 15, 18, 22, 27, 33, 41, 51]
    other = labels.copy()
    other[0] = 1 - min(1, other[0])  # one of the first is corrected
    prober.best(features, other, SingleLabel(4))
    prober.best(features, other, SingleLabel(5))  # and a class comes
    prober.best(features[::-1], other, SingleLabel(5))
    assert chosen[10:] == [60, 60, 60]


def test_the_descriptions_of_a_class_count_as_many_labels_together() -> None:
    features, labels = blobs(4, 30, 3)
    described = features[:4] + 1.0, np.array([0, 1, 1, 2])
    points = np.vstack([features, described[0]])
    centre = np.tile(points.mean(axis=0), (3, 1))
    weights = [*np.ones(30), *(DESCRIPTION_WEIGHT * np.array([1, 0.5, 0.5, 1])), *np.full(3, PRIOR)]
    known = np.concatenate([labels, described[1], np.arange(3)])
    expected = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    expected.fit(np.vstack([points, centre]), known, sample_weight=weights)
    found = fit_probe(features, labels, SingleLabel(3), 1.0, described)
    np.testing.assert_allclose(softmax(found.logits(features)), expected.predict_proba(features), atol=3e-3)


@pytest.mark.parametrize(("shift", "mislead"), [(0, False), (1, True)])
def test_misleading_descriptions_are_left_out(shift: int, mislead: bool) -> None:
    features, labels = blobs(10, 60, 3, noise=0.3)
    centroids = np.stack([features[labels == c].mean(axis=0) for c in range(3)])
    described = centroids, (np.arange(3) + shift) % 3  # each describes its class, or another one
    assert descriptions_mislead(features, labels, SingleLabel(3), 0, 10.0, described) is mislead
    assert not descriptions_mislead(features[:9], labels[:9], SingleLabel(3), 0, 10.0, described)  # too few to tell
    found = ProbeFitter(0).best(features, labels, SingleLabel(3), described)
    expected = fit_probe(features, labels, SingleLabel(3), found.penalty, None if mislead else described)
    assert found.uses_descriptions is not mislead
    np.testing.assert_array_equal(found.weight, expected.weight)


def test_other_descriptions_are_judged_anew() -> None:
    features, labels = blobs(10, 60, 3, noise=0.3)
    centroids, prober = np.stack([features[labels == c].mean(axis=0) for c in range(3)]), ProbeFitter(0)
    used = [
        prober.best(features, labels, SingleLabel(3), (centroids, np.roll(np.arange(3), shift))).uses_descriptions
        for shift in (1, 0)
    ]
    assert used == [False, True]


@pytest.mark.parametrize("described", [True, False])
def test_fits_are_counted(described: bool) -> None:
    """Each fit to 10,000 described classes takes half a minute."""
    features, labels = blobs(1, 12, 3)
    counted: list[tuple[int, int]] = []
    prober = ProbeFitter(1, lambda fits, of: counted.append((fits, of)))
    descriptions = (features[:3], np.array([0, 1, 2])) if described else None
    prober.best(features, labels, SingleLabel(3), descriptions)
    assert counted == ([(1, 4), (2, 4), (3, 4), (4, 4)] if described else [(4, 4)])
    counted.clear()
    prober.best(features, labels, SingleLabel(3), descriptions)
    assert counted == [(4, 4)]  # the penalty and the judgement of descriptions are kept


def test_a_class_without_labels_is_known_by_its_name() -> None:
    features, labels = blobs(5, 60, 3, noise=0.3)
    seen = labels != 2
    names = np.stack([features[labels == c][0] for c in range(3)])
    without, found = (
        fit_probe(features[seen], labels[seen], SingleLabel(3), 1.0, given) for given in (None, (names, np.arange(3)))
    )
    unseen = features[~seen]
    assert (without.logits(unseen).argmax(axis=1) != 2).all()
    assert (found.logits(unseen).argmax(axis=1) == 2).mean() > 0.9


def test_names_are_known_to_every_fold() -> None:
    features, labels = blobs(6, 12, 3, noise=0.3)
    names = np.stack([features[labels == c].mean(axis=0) for c in range(3)])
    labels = np.where(labels == 2, np.arange(12) % 2, labels)  # no text of the last class is labelled
    found = cross_fitted(features, labels, SingleLabel(3), np.random.default_rng(0), 3, [1.0], (names, np.arange(3)))[0]
    fold = np.array_split(np.random.default_rng(0).permutation(12), 3)[0]
    rest = np.setdiff1d(np.arange(12), fold)
    by_hand = fit_probe(features[rest], labels[rest], SingleLabel(3), 1.0, (names, np.arange(3)))
    np.testing.assert_allclose(softmax(found[fold]), softmax(by_hand.logits(features[fold])), atol=1e-2)


def test_probe_does_not_depend_on_the_number_of_cores() -> None:
    features, labels = blobs(3, 600, 8, width=384)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(
                (fit_probe(features, labels, SingleLabel(8)), best_penalty(features, labels, SingleLabel(8), seed=0))
            )
    (one, penalty), (two, other) = found
    np.testing.assert_array_equal(one.weight, two.weight)
    np.testing.assert_array_equal(one.bias, two.bias)
    assert penalty == other


def test_very_many_classes_are_fitted_with_one_row_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(40, 8)), rng.integers(0, 5, 40)
    rows = fit_probe(features, labels, SingleLabel(12)).logits(features)
    monkeypatch.setattr(probe, "MAX_PRIOR_ROWS", 11)
    sizes: list[int] = []

    def noted(logits: Floats) -> Floats:
        sizes.append(len(logits))
        return log_softmax(logits)

    monkeypatch.setattr(probe, "log_softmax", noted)
    np.testing.assert_allclose(fit_probe(features, labels, SingleLabel(12)).logits(features), rows, atol=1e-9)
    assert set(sizes) == {41}


def test_weighted_labels_are_the_sample_weights_of_scikit_learn() -> None:
    features, labels = blobs(4, 60, 3)
    counts = np.random.default_rng(0).uniform(0.1, 1.0, 60)
    points = np.vstack([features, np.tile(features.mean(axis=0), (3, 1))])
    reference = LogisticRegression(C=1 / 3.0, tol=1e-10, max_iter=10_000)
    reference.fit(points, [*labels, 0, 1, 2], [*counts, *np.full(3, PRIOR)])
    found = fit_probe(features, labels, SingleLabel(3), 3.0, weights=counts[:, None])
    assert np.allclose(softmax(found.logits(features)), reference.predict_proba(features), atol=1e-3)


def test_labels_of_weight_zero_are_not_learnt() -> None:
    features, labels = blobs(4, 60, 2)
    wrong = np.where(np.arange(60) < 30, labels, 1 - labels)
    weights = (np.arange(60) < 30).astype(float)[:, None]
    probe = ProbeFitter(0).best(features, wrong, SingleLabel(2), weights=weights)
    assert (probe.logits(features).argmax(axis=1) == labels).mean() > 0.9
    assert (ProbeFitter(0).best(features, wrong, SingleLabel(2)).logits(features).argmax(axis=1) == labels).mean() < 0.8
