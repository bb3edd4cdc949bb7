from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError
from hybridal.measures import calibration


def some(seed: int, n: int = 80, classes: int = 4, sharpness: float = 3.0) -> tuple[Floats, Ints]:
    """Logits that are right about half of the time."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    logits = rng.normal(size=(n, classes))
    logits[np.arange(n), labels] += 1.0
    return (sharpness * logits).astype(np.float32), labels


def test_softmax_equals_torch() -> None:
    logits, _ = some(1)
    expected = torch.tensor(logits, dtype=torch.float64)
    np.testing.assert_allclose(calibration.softmax(logits), expected.softmax(1).numpy(), rtol=1e-6)
    np.testing.assert_allclose(calibration.log_softmax(logits, 2.5), (expected / 2.5).log_softmax(1).numpy(), rtol=1e-5)


def test_softmax_of_huge_logits_is_finite() -> None:
    assert calibration.softmax(np.array([[1e30, 0.0], [-1e30, 0.0]])).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_nll_equals_torch_and_sklearn() -> None:
    logits, labels = some(2)
    ours = calibration.nll(logits, labels)
    theirs = torch.nn.functional.cross_entropy(torch.tensor(logits, dtype=torch.float64), torch.tensor(labels))
    assert ours == pytest.approx(float(theirs), rel=1e-6)
    assert ours == pytest.approx(log_loss(labels, calibration.softmax(logits)), rel=1e-6)


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 6.0])
def test_temperature_is_the_best_of_a_fine_grid(sharpness: float) -> None:
    logits, labels = some(3, sharpness=sharpness)
    grid = np.exp(np.linspace(math.log(0.05), math.log(20), 4001))
    best = grid[np.argmin([calibration.nll(logits, labels, float(t)) for t in grid])]
    assert calibration.temperature(logits, labels) == pytest.approx(best, rel=2e-3)


def test_temperature_of_scaled_logits_is_scaled() -> None:
    logits, labels = some(4)
    once, twice = calibration.temperature(logits, labels), calibration.temperature(2 * logits, labels)
    assert twice == pytest.approx(2 * once, rel=1e-4)


@pytest.mark.parametrize(
    ("logits", "labels", "expected"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], [1, 0], 0.05),  # never wrong
        ([[0.0, 9.0], [9.0, 0.0]], [0, 1], 20.0),  # never right
        ([[0.0, 1.0]], [1], 0.05),  # one text
        ([[1.0, 1.0], [2.0, 2.0]], [0, 1], 1.0),  # no temperature changes anything
    ],
)
def test_temperature_is_bounded_where_there_is_no_best(
    logits: list[list[float]], labels: list[int], expected: float
) -> None:
    assert calibration.temperature(np.array(logits), np.array(labels)) == pytest.approx(expected, rel=1e-3)


def test_temperature_of_certain_correct_answers_stays_in_bounds() -> None:
    # From some temperature down the loss is exactly 0, and all are as good.
    fitted = calibration.temperature(np.array([[0.0, 90.0], [90.0, 0.0]]), np.array([1, 0]))
    assert 0.05 <= fitted <= 20.0


def brute_ece(probabilities: Floats, labels: Ints, bins: int) -> float:
    total = 0.0
    for b in range(bins):
        inside = [i for i, p in enumerate(probabilities) if b / bins < max(p) <= (b + 1) / bins]
        if inside:
            confidence = np.mean([max(probabilities[i]) for i in inside])
            right = np.mean([np.argmax(probabilities[i]) == labels[i] for i in inside])
            total += len(inside) / len(labels) * abs(right - confidence)
    return float(total)


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_ece_equals_its_definition(bins: int) -> None:
    logits, labels = some(5, n=300)
    probabilities = calibration.softmax(logits)
    assert calibration.ece(probabilities, labels, bins) == pytest.approx(brute_ece(probabilities, labels, bins))


def test_a_bin_is_closed_above() -> None:
    probabilities = np.array([[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]])
    assert calibration.reliability(probabilities, np.array([0, 0, 0]), bins=4).count.tolist() == [0, 1, 1, 1]


def test_brier_score_equals_sklearn() -> None:
    logits, labels = some(6)
    probabilities = calibration.softmax(logits)
    onehot = np.eye(4)[labels]
    assert calibration.brier(probabilities, labels) == pytest.approx(((probabilities - onehot) ** 2).sum(1).mean())
    two = calibration.softmax(logits[:, :2])
    answers = labels % 2
    assert calibration.brier(two, answers) == pytest.approx(2 * brier_score_loss(answers, two[:, 1]))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    classes=st.integers(2, 5),
    sharpness=st.floats(0.01, 50),
    heat=st.floats(0.05, 20),
)
def test_measures_are_bounded_and_scaling_keeps_the_answer(
    seed: int, n: int, classes: int, sharpness: float, heat: float
) -> None:
    logits, labels = some(seed, n, classes, sharpness)
    probabilities = calibration.softmax(logits, heat)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    picked = probabilities[np.arange(n), logits.argmax(axis=1)]
    assert (picked == probabilities.max(axis=1)).all()  # scaling keeps the answer
    assert 0.0 <= calibration.ece(probabilities, labels) <= 1.0
    assert 0.0 <= calibration.brier(probabilities, labels) <= 2.0 + 1e-12
    fitted = calibration.temperature(logits, labels)
    assert 0.05 <= fitted <= 20.0
    assert calibration.nll(logits, labels, fitted) <= calibration.nll(logits, labels)
    assert calibration.nll(logits, labels, fitted) <= calibration.nll(logits, labels, heat) + 1e-6


@pytest.mark.parametrize("measure", [calibration.nll, calibration.temperature, calibration.ece, calibration.brier])
def test_invalid_labels_are_refused(measure: Callable[[Floats, Ints], float]) -> None:
    with pytest.raises(UserError, match="no labelled examples"):
        measure(np.empty((0, 2)), np.empty(0, dtype=np.int64))
    with pytest.raises(UserError, match="its own row"):
        measure(np.zeros((3, 2)), np.array([0, 1]))
    for unknown in (-1, 2):
        with pytest.raises(UserError, match="one of the 2 classes"):
            measure(np.zeros((2, 2)), np.array([0, unknown]))


def test_non_finite_logits_are_refused() -> None:
    with pytest.raises(UserError, match="not finite"):
        calibration.temperature(np.array([[0.0, np.nan]]), np.array([0]))
    with pytest.raises(UserError, match="positive number, not 0"):
        calibration.softmax(np.zeros((1, 2)), 0.0)


# --- with few labels -----------------------------------------------------------------------------------------------


def sure_and_wrong(n: int, seed: int = 0) -> tuple[Floats, Ints]:
    """A model that is three times too sure of itself."""
    rng = np.random.default_rng(seed)
    honest = rng.normal(size=(n, 3))
    chances = calibration.softmax(honest)
    labels = np.array([rng.choice(3, p=p) for p in chances], dtype=np.int64)
    return 3 * honest, labels


def test_many_labels_decide_the_shrunk_temperature_and_none_leave_it_where_it_was() -> None:
    logits, labels = sure_and_wrong(4000)
    fitted = calibration.temperature(logits, labels)
    assert calibration.shrunk_temperature(logits, labels) == pytest.approx(fitted, rel=0.01)
    assert calibration.shrunk_temperature(logits[:0], labels[:0]) == pytest.approx(
        math.exp(calibration.PRIOR_MEAN), rel=1e-4
    )
    assert calibration.shrunk_temperature(logits[:0], labels[:0], trained=False) == pytest.approx(1.0, abs=1e-4)


@given(st.integers(1, 60), st.integers(0, 9))
def test_shrunk_temperature_lies_between_prior_and_likelihood(n: int, seed: int) -> None:
    logits, labels = sure_and_wrong(n, seed)
    fitted = math.log(calibration.temperature(logits, labels))
    shrunk = math.log(calibration.shrunk_temperature(logits, labels))
    low, high = sorted((fitted, calibration.PRIOR_MEAN))
    # Where 1 is as good as any, `temperature` says 1; this one may go beyond it.
    assert min(low, 0.0) - 1e-3 <= shrunk <= max(high, 0.0) + 1e-3 or fitted == 0.0


def test_shrunk_temperature_moves_towards_the_last_one() -> None:
    logits, labels = sure_and_wrong(20)
    cold, none, hot = (calibration.shrunk_temperature(logits, labels, last) for last in (0.5, None, 6.0))
    assert cold < none < hot


def test_shrunk_temperature_generalises_better_with_few_labels() -> None:
    truth = sure_and_wrong(5000, seed=99)
    losses = np.array(
        [
            [calibration.nll(*truth, fit(*sure_and_wrong(12, seed))) for seed in range(40)]
            for fit in (calibration.temperature, calibration.shrunk_temperature)
        ]
    )
    assert losses[1].mean() < losses[0].mean()
