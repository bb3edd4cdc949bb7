from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.errors import RunError, UserError
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders.frozen_layers import FrozenStates
from hybridal.models.training.fit import fit
from hybridal.models.training.forward_passes import predict
from hybridal.tasks import Task
from hybridal.updates import Plan

from ..parts import CPU, LENGTH, classifier_of, examples_of, random_backbone

RULES = protocol("paper", {"learning_rate": 1e-3, "max_epochs": 2, "stop_after": None, "max_length": LENGTH})


@pytest.fixture(scope="module", params=["bert", "roberta", "distilbert", "electra"])
def backbone(request: pytest.FixtureRequest, tiny: Backbone, tmp_path_factory: pytest.TempPathFactory) -> Backbone:
    return random_backbone(request.param, tiny.folder, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("top", [0, 1, 2])
def test_top_layers_on_cached_states_equal_the_whole_encoder(backbone: Backbone, task: Task, top: int) -> None:
    whole, part = classifier_of(backbone, task), Classifier(backbone, task.classes, 7, CPU, train_layers=top)
    texts = examples_of(backbone, task.train)
    expected = predict(whole, texts.source, texts.rows, features=True)
    found = predict(part, part.source(texts.source), texts.rows, features=True)  # type: ignore[arg-type]
    assert expected.hidden is not None
    assert found.hidden is not None
    # States are kept in half precision.
    np.testing.assert_allclose(found.hidden, expected.hidden, atol=0.02)
    np.testing.assert_allclose(found.logits, expected.logits, atol=0.02)


def test_training_changes_only_the_top_layers_and_saves_all(backbone: Backbone, task: Task, tmp_path: Path) -> None:
    classifier = Classifier(backbone, task.classes, 7, CPU, train_layers=1)
    texts = examples_of(backbone, task.train)
    examples = type(texts)(classifier.source(texts.source), texts.rows, texts.labels)  # type: ignore[arg-type]
    found = fit(classifier, Plan(classifier.pretrained, texts.rows), examples, None, texts.labels, RULES, 1, 1)
    assert {*found.weights} == {*classifier.pretrained}
    assert not any("embeddings" in name or "layer.0." in name for name in found.weights)
    classifier.save(tmp_path)
    saved = AutoModelForSequenceClassification.from_pretrained(tmp_path).state_dict()
    before = classifier_of(backbone, task).weights()
    moved = {name for name in before if not torch.equal(before[name], saved[name])}
    assert moved == {name for name in found.weights if name in moved}
    assert any("layer.1." in name for name in moved)
    # The saved model reads tokens, and agrees with the one that reads states.
    again = Classifier(Backbone("saved", tmp_path), task.classes, 7, CPU)
    np.testing.assert_allclose(
        predict(again, texts.source, texts.rows).logits,
        predict(classifier, examples.source, texts.rows).logits,
        atol=0.03,
    )


def test_each_text_is_computed_once_when_it_is_first_needed(
    backbone: Backbone, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = Classifier(backbone, task.classes, 7, CPU, train_layers=1)
    texts = examples_of(backbone, task.train)
    states = classifier.source(texts.source)  # type: ignore[arg-type]
    assert isinstance(states, FrozenStates)
    seen: list[int] = []
    compute = classifier.encoder.frozen_states

    def counted(ids: torch.Tensor) -> torch.Tensor:
        seen.append(len(ids))
        return compute(ids)

    monkeypatch.setattr(classifier.encoder, "frozen_states", counted)
    states.joined(np.array([3, 5]))
    states.batch(np.array([5, 7, 3]))
    states.joined(np.array([7]))
    assert len(seen) == 3


def test_the_states_of_a_text_do_not_depend_on_other_texts(backbone: Backbone, task: Task) -> None:
    classifier = Classifier(backbone, task.classes, 7, CPU, train_layers=0)
    texts = examples_of(backbone, task.train)
    at_once, in_parts = (classifier.source(texts.source) for _ in range(2))  # type: ignore[arg-type]
    shuffled = np.random.default_rng(0).permutation(texts.rows)
    for start in range(0, len(shuffled), 7):
        in_parts.joined(shuffled[start : start + 7])
    # Bit for bit: a run that is resumed needs its texts in other groups than one that was never stopped.
    assert np.array_equal(at_once.joined(texts.rows), in_parts.joined(texts.rows))


def test_full_disk_is_reported_and_partial_states_are_not_read(tiny: Backbone, task: Task) -> None:
    classifier = Classifier(tiny, task.classes, 7, CPU, train_layers=1)
    texts = examples_of(tiny, task.train)
    states = classifier.source(texts.source)  # type: ignore[arg-type]
    assert isinstance(states, FrozenStates)
    expected = states.joined(texts.rows[:2])
    file, states._file = states._file, FullDisk()  # type: ignore[assignment]
    with pytest.raises(RunError, match=r"could not be kept in .*states .*No space left.* HYBRIDAL_CACHE"):
        states.joined(texts.rows[:4])
    states._file = file
    found = states.joined(texts.rows[:4])
    assert np.array_equal(found[: len(expected)], expected)
    assert found[len(expected) :].any(axis=1).all()


class FullDisk:
    def seek(self, _position: int) -> None: ...

    def write(self, _values: bytes) -> None: ...

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_frozen_layers_never_drop(tiny: Backbone, task: Task) -> None:
    classifier = Classifier(tiny, task.classes, 7, CPU, train_layers=1)
    texts = examples_of(tiny, task.train)
    with classifier.training(dropout=True):
        one, two = (classifier.source(texts.source).joined(texts.rows[:4]) for _ in range(2))  # type: ignore[arg-type]
    assert np.array_equal(one, two)


def test_the_plain_path_trains_the_same(backbone: Backbone, task: Task) -> None:
    found = []
    for device in (CPU, Device("cpu", "fp32", fast=False)):
        classifier = Classifier(backbone, task.classes, 7, device, train_layers=1)
        texts = examples_of(backbone, task.train)
        examples = type(texts)(classifier.source(texts.source), texts.rows, texts.labels)  # type: ignore[arg-type]
        plan = Plan(classifier.pretrained, texts.rows, dropout=False)
        fit(classifier, plan, examples, None, texts.labels, RULES, 1, 1)
        found.append(predict(classifier, examples.source, texts.rows).logits)
    np.testing.assert_allclose(found[0], found[1], atol=5e-3)


def test_more_layers_than_there_are(tiny: Backbone, task: Task) -> None:
    with pytest.raises(UserError, match="`train_layers` 3 is more than the 2 layers of this backbone"):
        Classifier(tiny, task.classes, 7, CPU, train_layers=3)


@pytest.mark.parametrize(("architecture", "pooling"), [("mpnet", "first"), ("albert", "first"), ("albert", "mean")])
def test_layers_that_cannot_be_separated_are_refused(
    architecture: str, pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    backbone = random_backbone(architecture, tiny.folder, tmp_path)
    with pytest.raises(UserError, match="`train_layers` does not know the layers of this kind of backbone"):
        Classifier(backbone, task.classes, 7, CPU, train_layers=1, pooling=pooling)
