from __future__ import annotations

import numpy as np
import pytest

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.objective import MultiLabel, SingleLabel
from hybridal.models.training.description_probe import MULTI_LABEL_SPREAD, SPREAD_PER_NAT, description_probe

CLASSES, WIDTH = 3, 6
AXES = np.eye(CLASSES, WIDTH)
NAMES = AXES, np.arange(CLASSES)


def texts(per_class: int = 20, at: float = 5.0, seed: int = 0) -> tuple[Floats, Ints]:
    """Texts of each class, far away from the names."""
    labels = np.repeat(np.arange(CLASSES), per_class)
    rng = np.random.default_rng(seed)
    return at * AXES[0] + AXES[labels] + 0.1 * rng.normal(size=(len(labels), WIDTH)), labels


def test_texts_far_from_all_names_are_told_apart() -> None:
    features, labels = texts()
    found = description_probe(features, NAMES, SingleLabel(CLASSES))
    assert found is not None
    assert (found.logits(features).argmax(axis=1) == labels).all()
    assert (features @ AXES.T).argmax(axis=1).tolist() == [0] * len(labels)  # the name nearest to all texts


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_the_spread_of_logits_does_not_depend_on_the_encoder(scale: float) -> None:
    features, _ = texts()
    single = description_probe(scale * features, (scale * AXES, NAMES[1]), SingleLabel(CLASSES))
    several = description_probe(scale * features, (scale * AXES, NAMES[1]), MultiLabel(LabelSets(CLASSES)))
    assert single is not None
    assert several is not None
    assert single.logits(scale * features).std() == pytest.approx(SPREAD_PER_NAT * np.log(CLASSES))
    logits = several.logits(scale * features)
    assert logits.std() == pytest.approx(MULTI_LABEL_SPREAD)
    assert logits.mean() == pytest.approx(-np.log(CLASSES))


def test_examples_like_the_texts_keep_the_frequencies_of_a_skewed_pool() -> None:
    """By names alone the mean text has no likely class; by examples it has that of most texts."""
    features, labels = texts()
    skewed = np.vstack([features[labels == 0], features[labels == 1][:2], features[labels == 2][:2]])
    drawn = [texts(1, seed=seed)[0] for seed in range(4)]
    examples = np.vstack(drawn), np.tile(np.arange(CLASSES), len(drawn))
    centre = skewed.mean(axis=0)[None]
    by_names, by_examples = (description_probe(skewed, found, SingleLabel(CLASSES)) for found in (NAMES, examples))
    assert by_names is not None
    assert by_examples is not None
    assert by_names.logits(centre) == pytest.approx(0.0, abs=1e-9)
    assert by_examples.logits(centre).argmax() == 0


@pytest.mark.parametrize("of", [[0, 1, 1], [0, 0, 0]])
def test_none_without_a_description_of_each_class(of: list[int]) -> None:
    assert description_probe(texts()[0], (AXES, np.array(of)), SingleLabel(CLASSES)) is None


def test_none_without_texts() -> None:
    assert description_probe(np.empty((0, WIDTH)), NAMES, SingleLabel(CLASSES)) is None


@pytest.mark.parametrize("pool", [np.ones((1, WIDTH)), np.ones((4, WIDTH))])
def test_equal_texts_and_equal_descriptions_give_equal_chances(pool: Floats) -> None:
    for described in (NAMES, (np.ones((CLASSES, WIDTH)), NAMES[1])):
        found = description_probe(pool, described, SingleLabel(CLASSES))
        assert found is not None
        assert SingleLabel(CLASSES).probabilities(found.logits(pool)) == pytest.approx(1 / CLASSES)


def test_a_single_class_that_a_text_may_have() -> None:
    found = description_probe(texts()[0], (AXES[:1], np.array([0])), MultiLabel(LabelSets(1)))
    assert found is not None
    assert found.logits(texts()[0]).tolist() == [[0.0]] * 60
