from __future__ import annotations

import numpy as np
import pytest

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.objective import MultiLabel, Objective, SingleLabel
from hybridal.models.training.encoder_losses import held_out_losses


def losses(features: Floats, labels: Ints, objective: Objective, **more: object) -> Floats:
    return held_out_losses(features, labels, objective, np.random.default_rng(0), **more)  # type: ignore[arg-type]


def blobs(seed: int, noise: float, classes: int = 3, size: int = 60) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    labels = np.arange(size) % classes
    return np.eye(classes, 8)[labels] * 3 + noise * rng.normal(size=(size, 8)), labels


def test_features_that_tell_the_classes_have_lower_losses() -> None:
    clear, labels = blobs(1, noise=0.5)
    blurred, _ = blobs(1, noise=4.0)
    assert losses(clear, labels, SingleLabel(3)).mean() < losses(blurred, labels, SingleLabel(3)).mean() - 0.3


def test_nothing_is_learnt_from_the_text_itself() -> None:
    """Features without any information: the loss is not below that of guessing."""
    labels = np.random.default_rng(3).integers(2, size=80)
    noise = np.random.default_rng(4).normal(size=(80, 200))
    assert losses(noise, labels, SingleLabel(2)).mean() > np.log(2) - 0.02


def test_a_narrow_cone_is_judged_like_a_wide_one() -> None:
    features, labels = blobs(2, noise=1.0)
    cone = 5.0 + 0.01 * features
    assert losses(cone, labels, SingleLabel(3)) == pytest.approx(losses(features, labels, SingleLabel(3)), abs=1e-3)


def test_class_descriptions_are_examples() -> None:
    features, labels = blobs(5, noise=1.5, size=12)
    described = np.eye(3, 8) * 3, np.arange(3)
    with_them = losses(features, labels, SingleLabel(3), description_features=described)
    assert len(with_them) == 12
    assert with_them.mean() < losses(features, labels, SingleLabel(3)).mean()


def test_several_labels_per_text() -> None:
    rng, sets = np.random.default_rng(6), LabelSets(3)
    present = rng.random((80, 3)) < 0.4
    labels = np.array([sets.number(np.flatnonzero(row).tolist()) for row in present])
    telling, noise = present * 4.0 + rng.normal(size=(80, 3)), rng.normal(size=(80, 3))
    objective = MultiLabel(sets)
    assert losses(telling, labels, objective).mean() < losses(noise, labels, objective).mean() - 0.5


def test_identical_features_are_no_error() -> None:
    assert np.isfinite(losses(np.ones((12, 4)), np.arange(12) % 2, SingleLabel(2))).all()
