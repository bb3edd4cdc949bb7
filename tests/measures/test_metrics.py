from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from hybridal.errors import UserError
from hybridal.measures import calibration, metrics


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), classes=st.integers(2, 6), seen=st.integers(1, 6))
def test_accuracy_and_f1_equal_sklearn(seed: int, n: int, classes: int, seen: int) -> None:
    rng = np.random.default_rng(seed)
    labels, predictions = rng.integers(min(seen, classes), size=n), rng.integers(classes, size=n)
    theirs = f1_score(labels, predictions, average="macro", labels=np.unique(labels))
    assert metrics.macro_f1(labels, predictions, classes) == pytest.approx(theirs, abs=1e-12)
    assert metrics.accuracy(labels, predictions) == accuracy_score(labels, predictions)
    assert metrics.right_count(labels, predictions) == (labels == predictions).sum()


def test_a_class_without_a_labelled_text_is_left_out_of_macro_f1() -> None:
    labels, predictions = np.array([0, 0, 0, 1]), np.array([0, 0, 3, 1])
    assert metrics.macro_f1(labels, predictions, 64) == pytest.approx((0.8 + 1) / 2)


def test_measure_returns_all_metrics() -> None:
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(50, 3)).astype(np.float32), rng.integers(3, size=50)
    found = metrics.measure(logits, labels, temperature=2.0)
    cold, warm = calibration.softmax(logits), calibration.softmax(logits, 2.0)
    assert (found.n, found.right) == (50, int((logits.argmax(1) == labels).sum()))
    assert found.accuracy == found.right / found.n
    assert found.f1 == pytest.approx(f1_score(labels, logits.argmax(1), average="macro"))
    assert (found.nll, found.nll_scaled) == (calibration.nll(logits, labels), calibration.nll(logits, labels, 2.0))
    assert (found.ece, found.ece_scaled) == (calibration.ece(cold, labels), calibration.ece(warm, labels))
    assert found.support == tuple(np.bincount(labels, minlength=3))
    assert found.brier == calibration.brier(cold, labels)


def test_at_temperature_one_nothing_is_scaled() -> None:
    found = metrics.measure(np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([1, 1]))
    assert (found.nll, found.ece) == (found.nll_scaled, found.ece_scaled)


def test_empty_split_is_refused() -> None:
    none = np.empty(0, dtype=np.int64)
    for measure in (
        lambda: metrics.accuracy(none, none),
        lambda: metrics.macro_f1(none, none, 2),
        lambda: metrics.measure(np.empty((0, 2)), none),
    ):
        with pytest.raises(UserError, match="no labelled examples"):
            measure()


def test_unknown_labels_are_refused() -> None:
    with pytest.raises(UserError, match="one of the 2 classes"):
        metrics.measure(np.zeros((2, 2)), np.array([0, -1]))
