from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

from hybridal.backbones import Backbone
from hybridal.core.rounds import Cost, Round
from hybridal.models.classifier import Classifier
from hybridal.models.training.forward_passes import predict
from hybridal.models.training.probe import Probe
from hybridal.runs.export import export_model
from hybridal.runs.settings import Settings
from hybridal.tasks import Task

from ..parts import ARCHITECTURES, CPU, LENGTH, classifier_of, examples_of, random_backbone, row_of, same_weights


@pytest.fixture(scope="module", params=[*ARCHITECTURES])
def backbone(request: pytest.FixtureRequest, tiny: Backbone, tmp_path_factory: pytest.TempPathFactory) -> Backbone:
    return random_backbone(request.param, tiny.folder, tmp_path_factory.mktemp(request.param))


def test_the_head_reads_the_normalised_mean_of_all_tokens(backbone: Backbone, task: Task) -> None:
    classifier, texts = classifier_of(backbone, task, pooling="mean"), examples_of(backbone, task.train)
    body = AutoModel.from_pretrained(backbone.folder).eval()
    outputs = predict(classifier, texts.source, texts.rows[:12], features=True)
    assert outputs.hidden is not None
    assert outputs.embedding is not None
    head = classifier.module.classifier
    for row in range(12):
        with torch.no_grad():
            mean = body(row_of(texts.source, row)).last_hidden_state[0].mean(dim=0).numpy().astype(np.float64)
        np.testing.assert_allclose(outputs.hidden[row], mean, atol=1e-4)
        feature = (mean - mean.mean()) / mean.std()
        np.testing.assert_allclose(outputs.embedding[row], feature, atol=1e-3)
        expected = head.weight.detach().numpy() @ feature + head.bias.detach().numpy()
        np.testing.assert_allclose(outputs.logits[row], expected, atol=1e-3)


def test_unused_parameters_are_not_trained(backbone: Backbone, task: Task) -> None:
    classifier, texts = classifier_of(backbone, task, pooling="mean"), examples_of(backbone, task.train)
    classifier.logits_of(texts.source, texts.rows[:4]).sum().backward()
    assert [name for name, parameter in classifier.trainable().items() if parameter.grad is None] == []


def test_another_head_changes_no_more_than_the_head(tiny: Backbone, task: Task) -> None:
    classifier = classifier_of(tiny, task, pooling="mean")
    width = classifier.module.config.hidden_size
    start = classifier.with_head(classifier.pretrained, Probe(np.full((2, width), 0.5), np.array([1.0, 2.0])))
    classifier.load(start)
    assert classifier.module.classifier.bias.tolist() == [1.0, 2.0]
    others = {name for name in start if not name.startswith("classifier.")}
    assert same_weights({name: start[name] for name in others}, {name: classifier.pretrained[name] for name in others})


def test_other_weights_apply_only_inside_the_block(tiny: Backbone, task: Task) -> None:
    classifier = classifier_of(tiny, task, pooling="mean")
    moved = {name: value + 1 for name, value in classifier.pretrained.items()}
    classifier.load(moved)
    with classifier.using_weights(classifier.pretrained):
        assert same_weights(classifier.weights(), classifier.pretrained)
    assert same_weights(classifier.weights(), moved)


def test_exported_model_is_a_backbone_without_the_mean_layer(backbone: Backbone, task: Task, tmp_path: Path) -> None:
    classifier, texts = classifier_of(backbone, task, pooling="mean"), examples_of(backbone, task.train)
    record = Round(1, "retrain", "R", 20, Cost(), 1, 2.0, None, None, {}, (), ())
    settings = Settings("toy", backbone=backbone.name, overrides={"max_length": LENGTH})
    export_model(classifier, backbone.encoder(LENGTH), task, settings, record, tmp_path / "model")

    exported = Backbone("exported", tmp_path / "model")
    assert exported.pooling == "mean"
    again = classifier_of(exported, task, pooling="mean")
    assert len(again.weights()) == len(classifier.weights())
    ours, theirs = (predict(c, texts.source, texts.rows).logits for c in (classifier, again))
    np.testing.assert_allclose(theirs, ours / 2.0, atol=1e-5)
    with_more = Classifier(exported, ("a", "b", "c"), 7, CPU, pooling="mean")
    assert with_more.module.classifier.weight.shape[0] == 3
