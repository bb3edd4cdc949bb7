"""Precision is an argument of the module; saving leaves the module as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.encoders.layers import Build, Linear
from hybridal.models.encoders.rounded_linear import RoundedLinear
from hybridal.models.loading import load_module
from hybridal.tasks import Task

from ..parts import classifier_of, random_backbone, same_weights

MIXED = Build(matmul_dtype=torch.bfloat16)
# One of our own and one of transformers.
KINDS = pytest.mark.parametrize("architecture", ["bert", "albert"])
POOLINGS = pytest.mark.parametrize("pooling", ["first", "mean"])


@pytest.fixture
def backbone(architecture: str, tiny: Backbone, tmp_path: Path) -> Backbone:
    return random_backbone(architecture, tiny.folder, tmp_path / architecture)


@pytest.fixture
def batch() -> PaddedBatch:
    ids = torch.randint(5, 2000, (3, 9), generator=torch.Generator().manual_seed(0))
    return PaddedBatch(ids, torch.ones_like(ids))


def module_of(backbone: Backbone, task: Task, pooling: str, build: Build) -> Any:
    return load_module(backbone, task.classes, 7, pooling, build)[0].eval()


@KINDS
@POOLINGS
def test_products_are_rounded_and_everything_that_is_kept_is_float32(
    backbone: Backbone, task: Task, pooling: str, batch: PaddedBatch
) -> None:
    exact, mixed = (module_of(backbone, task, pooling, build) for build in (Build(), MIXED))
    products: list[torch.dtype] = []
    for layer in mixed.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(lambda _module, _inputs, found: products.append(found.dtype))
    output = mixed(batch)
    assert {*products} == {torch.bfloat16}
    assert output.logits.dtype == torch.float32
    expected = exact(batch).logits
    assert not torch.equal(output.logits, expected)
    torch.testing.assert_close(output.logits, expected, atol=0.1, rtol=0.1)
    output.logits.sum().backward()
    kept = [tensor for weight in mixed.parameters() for tensor in (weight, weight.grad) if tensor is not None]
    assert {tensor.dtype for tensor in kept} == {torch.float32}


@KINDS
@POOLINGS
def test_an_autocast_of_the_caller_has_no_effect(
    backbone: Backbone, task: Task, pooling: str, batch: PaddedBatch
) -> None:
    module = module_of(backbone, task, pooling, Build())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = module(batch).logits
    assert torch.equal(inside, module(batch).logits)


def test_the_device_of_a_classifier_decides_its_precision(tiny: Backbone, task: Task) -> None:
    for precision, linear in (("fp32", Linear), ("bf16", RoundedLinear)):
        classifier = Classifier(tiny, task.classes, 7, Device("cpu", precision))
        assert classifier.module.build.matmul_dtype == classifier.encoder.build.matmul_dtype == torch.float32
        assert classifier.module.build.linear is classifier.encoder.build.linear is linear


@KINDS
@POOLINGS
def test_saving_under_other_names_and_at_a_temperature_changes_nothing(
    backbone: Backbone, task: Task, pooling: str, tmp_path: Path
) -> None:
    classifier = classifier_of(backbone, task, pooling=pooling)
    config = classifier.module.config
    before = classifier.weights(), classifier.classes, json.dumps(config.to_diff_dict().get("id2label"))
    versions = [parameter._version for parameter in classifier.module.parameters()]
    classifier.with_class_names(["one", "two"]).save(tmp_path / "saved", temperature=2.0)
    after = classifier.weights(), classifier.classes, json.dumps(config.to_diff_dict().get("id2label"))
    assert same_weights(after[0], before[0])
    assert after[1:] == before[1:]
    assert [parameter._version for parameter in classifier.module.parameters()] == versions  # never written to
    saved = json.loads((tmp_path / "saved" / "config.json").read_text(encoding="utf-8"))
    assert saved["id2label"] == {"0": "one", "1": "two"}
    assert saved["label2id"] == {"one": 0, "two": 1}


@KINDS
def test_a_saved_model_s_logits_are_divided_by_the_temperature(
    backbone: Backbone, task: Task, batch: PaddedBatch, tmp_path: Path
) -> None:
    classifier = classifier_of(backbone, task)
    classifier.save(tmp_path / "saved", temperature=2.0)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved").eval()
    with torch.inference_mode():
        theirs = model(input_ids=batch.inputs, attention_mask=batch.mask).logits
        torch.testing.assert_close(theirs, classifier.run(batch).logits / 2)
