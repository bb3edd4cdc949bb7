from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.gpu import graph_gradients as gradients
from hybridal.models.gpu.graph_gradients import gradient_norm
from hybridal.models.gpu.graphs import CudaGraphs
from hybridal.models.token_arrays import Tokens
from hybridal.models.training import forward_passes
from hybridal.tasks import Task

from ..parts import ARCHITECTURES, examples_of, random_backbone
from .parts import Repeater, pair


@pytest.mark.gpu
@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradient_norm_of_graphs_equals_the_plain_path(
    architecture: str, pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    plain, fast = pair(random_backbone(architecture, tiny.folder, tmp_path), task, pooling)
    texts = examples_of(tiny, task.train)
    for _ in range(2):  # once recorded, once replayed
        expected, found = (
            forward_passes.gradient_norm(one, texts.source, texts.rows, texts.labels) for one in (plain, fast)
        )
        assert found == pytest.approx(expected, rel=1e-3)
        for one in (plain, fast):
            one.load({name: 1.5 * weight for name, weight in one.weights().items()})


@pytest.mark.parametrize("at_once", [64, 2**13], ids=["many batches", "few"])
def test_batches_add_up_to_the_whole(tiny: Backbone, task: Task, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "TOKENS_PER_BATCH", at_once)
    classifier = Classifier(tiny, task.classes, 7, Device("cpu", "fp32", fast=False))
    texts, graphs = examples_of(tiny, task.train), CudaGraphs(classifier, Repeater())
    assert isinstance(texts.source, Tokens)
    expected = forward_passes.gradient_norm(classifier, texts.source, texts.rows, texts.labels)
    for _ in range(2):
        found = gradient_norm(graphs, texts.source, texts.rows, texts.labels)
        assert found == pytest.approx(expected, rel=1e-4)
    half = np.arange(0, len(texts.rows), 2)
    assert gradient_norm(graphs, texts.source, half, texts.labels[half]) != found
