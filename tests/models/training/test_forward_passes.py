from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.training import forward_passes
from hybridal.models.training.examples import Examples
from hybridal.models.training.fit import fit
from hybridal.models.training.forward_passes import LONG_PASS, TOKENS, gradient_norm, predict, sampled_logits
from hybridal.randomness import stream
from hybridal.tasks import Task
from hybridal.updates import Plan

from ..parts import ARCHITECTURES, classifier_of, examples_of, padded_logits, random_backbone, row_of


@pytest.fixture(scope="module", params=[*ARCHITECTURES])
def backbone(request: pytest.FixtureRequest, tiny: Backbone, tmp_path_factory: pytest.TempPathFactory) -> Backbone:
    folder: Path = tmp_path_factory.mktemp(request.param)
    return random_backbone(request.param, tiny.folder, folder)


@pytest.fixture(scope="module")
def classifier(backbone: Backbone, task: Task) -> Classifier:
    return classifier_of(backbone, task)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several batches to a pass."""
    monkeypatch.setitem(TOKENS, "cpu", 300)


@pytest.fixture(scope="module")
def texts(backbone: Backbone, task: Task) -> Examples:
    """In an order that is not that of their lengths."""
    found = examples_of(backbone, task.train, stream(1, "rows").permutation(len(task.train))[:75])
    assert found.source.lengths(found.rows).sum() > 600
    assert len(set(found.source.lengths(found.rows).tolist())) > 3
    return found


def test_predictions_come_in_the_requested_order_and_are_batch_invariant(
    classifier: Classifier, texts: Examples
) -> None:
    found = predict(classifier, texts.source, texts.rows).logits
    with torch.no_grad():
        alone = [classifier.module(PaddedBatch(row_of(texts.source, row))).logits[0].numpy() for row in texts.rows]
    np.testing.assert_allclose(found, alone, atol=1e-4)
    assert np.ptp(found, axis=0).min() > 1e-2


def test_row_order_does_not_change_predictions(classifier: Classifier, texts: Examples) -> None:
    order = stream(2, "order").permutation(len(texts.rows))
    one = predict(classifier, texts.source, texts.rows, features=True)
    other = predict(classifier, texts.source, texts.rows[order], features=True)
    for name in ("logits", "hidden", "embedding"):
        np.testing.assert_allclose(getattr(one, name)[order], getattr(other, name), atol=1e-4)


def test_repeated_row_is_predicted_twice(classifier: Classifier, texts: Examples) -> None:
    rows = texts.rows[[3, 0, 3]]
    found = predict(classifier, texts.source, rows).logits
    np.testing.assert_allclose(found[0], found[2], atol=1e-5)
    assert len(found) == 3


@pytest.mark.parametrize(("count", "times"), [(LONG_PASS - 1, 0), (LONG_PASS, 1)])
def test_after_a_long_pass_memory_is_given_back(
    count: int, times: int, classifier: Classifier, texts: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr(forward_passes, "return_freed_memory", lambda: given.append("back"))
    predict(classifier, texts.source, np.zeros(count, dtype=np.int64))
    assert len(given) == times


def test_features_are_returned_on_request_only(classifier: Classifier, texts: Examples) -> None:
    plain = predict(classifier, texts.source, texts.rows)
    full = predict(classifier, texts.source, texts.rows, features=True)
    assert (plain.hidden, plain.embedding) == (None, None)
    assert np.array_equal(plain.logits, full.logits)
    assert full.hidden is not None
    assert full.embedding is not None
    assert full.hidden.shape == full.embedding.shape == (75, 32)


def test_sampled_passes_differ_and_repeat(classifier: Classifier, texts: Examples) -> None:
    samples = sampled_logits(classifier, texts.source, texts.rows, passes=3, seed=11)
    torch.rand(5)
    assert samples.shape == (3, 75, 2)
    assert np.array_equal(samples, sampled_logits(classifier, texts.source, texts.rows, passes=3, seed=11))
    assert np.array_equal(samples[:2], sampled_logits(classifier, texts.source, texts.rows, passes=2, seed=11))
    assert not np.array_equal(samples, sampled_logits(classifier, texts.source, texts.rows, passes=3, seed=12))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not (samples[one] == samples[other]).all(axis=1).any()  # for no text at all


def test_sampled_rows_keep_the_requested_order(backbone: Backbone, task: Task, texts: Examples) -> None:
    """With masks that let everything through, a sampled pass is a plain one."""
    classifier = classifier_of(backbone, task)
    for layer in classifier.module.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    own = predict(classifier, texts.source, texts.rows).logits
    for sample in sampled_logits(classifier, texts.source, texts.rows, passes=2, seed=1):
        np.testing.assert_allclose(sample, own, atol=1e-5)


def test_dropout_is_off_again_after_sampling(classifier: Classifier, texts: Examples) -> None:
    before = predict(classifier, texts.source, texts.rows).logits
    sampled_logits(classifier, texts.source, texts.rows, passes=1, seed=1)
    assert np.array_equal(before, predict(classifier, texts.source, texts.rows).logits)


def test_the_norm_of_the_mean_gradient(backbone: Backbone, task: Task, texts: Examples) -> None:
    classifier = classifier_of(backbone, task)
    rules = protocol("paper", {"learning_rate": 1e-3, "max_epochs": 1})
    fit(classifier, Plan(classifier.pretrained, texts.rows), texts, None, texts.labels, rules, 1, 1)
    found = gradient_norm(classifier, texts.source, texts.rows, texts.labels)

    plain = Classifier(backbone, task.classes, 7, Device("cpu", "fp32", fast=False))
    plain.load(classifier.weights())
    logits = padded_logits(plain, texts.source, texts.rows)
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(texts.labels))
    gradients = torch.autograd.grad(loss, list(plain.module.parameters()))
    expected = float(torch.cat([gradient.ravel() for gradient in gradients]).norm())
    assert found == pytest.approx(expected, rel=1e-4)
    assert expected > 1e-3
    # asked again, it says the same, and it leaves nothing behind
    assert gradient_norm(classifier, texts.source, texts.rows, texts.labels) == found
    assert all(parameter.grad is None for parameter in classifier.module.parameters())
