"""Acquisitions over texts that may have several classes, against formulas written out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import entropy

from hybridal.acquisition import ACQUISITIONS, Acquisition, Candidates, Selection, check_objective, select
from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.testing import FakeCandidates

THRESHOLDS = (0.5, 0.2, 0.05)
RNG = np.random.default_rng(4)
PROBABILITIES = RNG.random((30, 3)) * [0.9, 0.4, 0.1]
SAMPLED = np.clip(PROBABILITIES + RNG.normal(scale=0.1, size=(6, 30, 3)), 0.01, 0.99)
CANDIDATES = FakeCandidates(
    [f"text-{row}" for row in range(30)],
    PROBABILITIES,
    RNG.normal(size=(30, 5)),
    SAMPLED,
    RNG.random((12, 3)),
    RNG.normal(size=(12, 5)),
    THRESHOLDS,
)
SEEN = CANDIDATES.probabilities().astype(np.float64)


def binary_entropies(probabilities: Floats) -> Floats:
    return np.asarray(entropy(np.stack([probabilities, 1 - probabilities]), axis=0))


SCORES = {
    "entropy": binary_entropies(SEEN).sum(axis=1),
    "least-confidence": np.minimum(SEEN, 1 - SEEN).max(axis=1),
    "margin": -np.abs(SEEN - THRESHOLDS).min(axis=1),
    "mmc": np.where(SEEN >= THRESHOLDS, 1 - SEEN, SEEN).sum(axis=1),
    "bald:6": (binary_entropies(SAMPLED.mean(axis=0)) - binary_entropies(SAMPLED).mean(axis=0)).sum(axis=1),
}


@pytest.mark.parametrize("spec", SCORES)
def test_scores_are_those_of_the_formula(spec: str) -> None:
    found = select(ACQUISITIONS.make(spec), CANDIDATES, 8, np.random.default_rng(0))
    best = np.argsort(-SCORES[spec], kind="stable")[:8]
    assert found.ids == tuple(CANDIDATES.ids[row] for row in best)
    np.testing.assert_allclose(found.scores, SCORES[spec][best], rtol=1e-4)


def test_cardinality_takes_unusual_numbers_of_classes_first() -> None:
    found = select(ACQUISITIONS.make("cardinality"), CANDIDATES, 30, np.random.default_rng(0))
    given = dict(zip(CANDIDATES.ids, (SEEN >= THRESHOLDS).sum(axis=1), strict=True))
    distances = [abs(given[id] - SEEN.sum(axis=1).mean()) for id in found.ids]
    assert distances == sorted(distances, reverse=True)
    assert len(set(distances)) > 2


def test_cal_adds_up_the_divergences_of_all_decisions() -> None:
    near = FakeCandidates(
        ["a", "b"],
        [[0.9, 0.1], [0.9, 0.1]],
        [[0.0], [5.0]],
        labelled_probabilities=[[0.9, 0.1], [0.9, 0.8]],
        labelled_embeddings=[[0.0], [5.0]],
        thresholds=(0.5, 0.5),
    )
    found = select(ACQUISITIONS.make("cal:1"), near, 2, np.random.default_rng(0))
    assert found.ids == ("b", "a")
    assert found.scores[0] == pytest.approx(entropy([0.8, 0.2], [0.1, 0.9]), rel=1e-5)


def test_badge_measures_errors_from_the_predicted_set() -> None:
    one = FakeCandidates(["a"], [[0.9, 0.2]], [[2.0, 0.0]], thresholds=(0.5, 0.1))
    found = select(ACQUISITIONS.make("badge"), one, 1, np.random.default_rng(0))
    assert found.scores == pytest.approx([(0.1**2 + 0.8**2) * 4])


@pytest.mark.parametrize("name", ["cardinality", "mmc"])
def test_multi_label_acquisition_is_refused_for_single_label_tasks(name: str) -> None:
    with pytest.raises(UserError, match=rf"^The acquisition '{name}' .* exactly one class; use badge, .*margin"):
        check_objective(ACQUISITIONS.make(name), multi_label=False)


def test_an_acquisition_that_does_not_say_supports_one_class_per_text() -> None:
    @dataclass(frozen=True)
    class Mine(Acquisition):
        name: ClassVar[str] = "mine"

        def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
            raise NotImplementedError

    check_objective(Mine(), multi_label=False)
    with pytest.raises(UserError, match=r"^The acquisition 'mine' .* several classes; use .*cardinality.*mmc"):
        check_objective(Mine(), multi_label=True)
