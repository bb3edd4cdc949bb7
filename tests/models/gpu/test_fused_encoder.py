from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.gpu.graph_steps import GraphSteps
from hybridal.models.gpu.graphs import CudaGraphs
from hybridal.models.training.optimiser_steps import PlainSteps
from hybridal.tasks import Task

from ..parts import examples_of, farthest, random_backbone
from .parts import ON, Repeater, needs_kernels
from .test_graph_steps import assert_same_way

RULES = protocol("paper", {"learning_rate": 1e-4})
PLAIN = Device(ON.type, "fp32", fast=False)


def fused(classifier: Classifier) -> CudaGraphs:
    from hybridal.models.gpu.fused_encoder import FusedEncoder

    classifier.graphs = graphs = CudaGraphs(classifier, Repeater(ON.type), FusedEncoder(classifier.module))
    return graphs


@needs_kernels
@pytest.mark.parametrize(
    ("architecture", "pooling"),
    [("bert", "mean"), ("roberta", "first"), ("distilbert", "mean"), ("mpnet", "first"), ("mpnet", "mean")],
)
def test_training_equals_that_of_the_own_layers(
    architecture: str, pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    backbone = random_backbone(architecture, tiny.folder, tmp_path)
    plain, other = (Classifier(backbone, task.classes, 7, PLAIN, pooling=pooling) for _ in range(2))
    texts = examples_of(backbone, task.train, np.arange(16))
    batches = [np.arange(8), np.arange(8, 13)]
    found = []
    for classifier, steps in (
        (plain, PlainSteps(plain, RULES)),
        (other, GraphSteps(fused(other), RULES)),
    ):
        steps.begin(None)
        steps.run(texts, batches, [1e-4, 1e-3], 1)
        found.append(classifier.weights())
    assert_same_way(plain.pretrained, *found)
    assert farthest(plain.pretrained, found[0]) > 0


@needs_kernels
def test_loaded_weights_are_used(tiny: Backbone, task: Task) -> None:
    classifier = Classifier(tiny, task.classes, 7, PLAIN)
    encoder = fused(classifier).fused_encoder
    assert encoder is not None
    start = classifier.weights()
    classifier.load({name: weight + 1 for name, weight in start.items()})
    names = encoder.named(encoder.arrays)
    assert set(names) == set(start)
    assert all(torch.equal(piece, start[name] + 1) for name, piece in names.items())
