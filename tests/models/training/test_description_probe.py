from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.objective import MultiLabel, SingleLabel
from hybridal.models.training.description_probe import (
    MULTI_LABEL_SPREAD,
    PRIOR_LABELS,
    SPREAD_PER_NAT,
    description_probe,
    shrunk,
)
from hybridal.models.training.probe import Probe, ProbeFitter, fit_probe

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


def fitted(few: int, shift: int = 0) -> tuple[Floats, Ints, Probe]:
    """The probe of some labels; `shift` moves each label to another class."""
    features, labels = texts()
    some = np.random.default_rng(1).permutation(len(labels))[:few]
    known = (labels[some] + shift) % CLASSES
    return features[some], known, ProbeFitter(0).best(features[some], known, SingleLabel(CLASSES), NAMES)


@pytest.mark.parametrize("few", [12, 25])
def test_few_labels_move_the_model_without_labels_as_far_as_they_count(few: int) -> None:
    features, labels, alone = fitted(few)
    without = description_probe(features, NAMES, SingleLabel(CLASSES))
    assert without is not None
    found = shrunk(alone, (features, labels), SingleLabel(CLASSES), NAMES)
    share = few / (few + PRIOR_LABELS)
    expected = share * alone.logits(AXES) + (1 - share) * without.logits(AXES)
    assert found.logits(AXES) == pytest.approx(expected)
    assert (found.penalty, found.uses_descriptions) == (alone.penalty, alone.uses_descriptions)


def test_labels_that_descriptions_do_not_tell_are_not_shrunk() -> None:
    features, labels, alone = fitted(12, shift=1)
    assert shrunk(alone, (features, labels), SingleLabel(CLASSES), NAMES) is alone


def test_only_probes_with_enough_labels_and_all_descriptions_are_shrunk() -> None:
    features, labels, alone = fitted(12)
    one = SingleLabel(CLASSES)
    assert shrunk(alone, (features, labels), one, NAMES) is not alone
    assert shrunk(alone, (features[:9], labels[:9]), one, NAMES) is alone
    assert shrunk(alone, (features, labels), one, None) is alone
    assert shrunk(alone, (features, labels), one, (AXES, np.array([0, 0, 1]))) is alone
    assert shrunk(replace(alone, uses_descriptions=False), (features, labels), one, NAMES).uses_descriptions is False
    sets = np.eye(CLASSES, dtype=np.int64)[labels]
    assert shrunk(alone, (features, sets), MultiLabel(LabelSets(CLASSES)), NAMES) is alone


def test_labels_of_a_model_count_less_as_evidence() -> None:
    """Labels that contradict the descriptions, given by a model that nobody trusts, do not prevent shrinking."""
    features, labels, _ = fitted(24)
    wrong = np.where(np.arange(24) < 14, (labels + 1) % CLASSES, labels)
    weights = np.where(np.arange(24) < 14, 0.01, 1.0)[:, None]
    one = SingleLabel(CLASSES)
    trusted, distrusted = (fit_probe(features, wrong, one, 1.0, NAMES, counts) for counts in (None, weights))
    assert shrunk(trusted, (features, wrong), one, NAMES) is trusted
    assert shrunk(distrusted, (features, wrong), one, NAMES, weights) is not distrusted
