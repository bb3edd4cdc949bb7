from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.encoders.bert import Bert
from hybridal.models.encoders.classifier_module import ClassifierOutput
from hybridal.models.encoders.layers import PLAIN
from hybridal.models.encoders.mpnet import MPNet
from hybridal.models.encoders.own_encoders import ARCHITECTURES as OWN
from hybridal.models.encoders.own_encoders import encoder_of, has_own_encoder
from hybridal.models.encoders.saved_model import CONFIG, WEIGHTS, SavedModel
from hybridal.models.training.fit import fit
from hybridal.models.training.forward_passes import gradient_norm, predict
from hybridal.tasks import Task
from hybridal.updates import Plan

from ..bodies import HAS_MINILM, MINILM, batch_of
from ..parts import ARCHITECTURES, examples_of, random_backbone, same_weights

RULES = protocol(
    "paper", {"learning_rate": 1e-3, "max_epochs": 2, "stop_after": None, "max_length": 32, "train_batch": 8}
)
KINDS = {name: own.encoder for name, own in OWN.items()}


@pytest.fixture
def made(tiny: Backbone, tmp_path: Path) -> Callable[[str], Backbone]:
    """A backbone of this architecture, to be altered."""
    return lambda name: random_backbone(name, tiny.folder, tmp_path / name)


@pytest.fixture(params=["bert", "mpnet"])
def backbone(request: pytest.FixtureRequest, made: Callable[[str], Backbone]) -> Backbone:
    return made(request.param)


def read(backbone: Backbone) -> Any:
    saved = SavedModel.read(backbone.folder)
    return None if saved is None else encoder_of(saved, PLAIN)


class Theirs(torch.nn.Module):  # type: ignore[misc]
    """The classifier of transformers, under our interface."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: PaddedBatch) -> ClassifierOutput:
        logits = self.model(input_ids=batch.inputs, attention_mask=batch.mask).logits
        return ClassifierOutput(logits, logits, logits)


def theirs(backbone: Backbone, task: Task) -> Classifier:
    """A classifier over the first token that runs transformers' module, with the same weights as ours."""
    classifier = Classifier(backbone, task.classes, 7, Device("cpu", "fp32", fast=False))
    model = AutoModelForSequenceClassification.from_pretrained(backbone.folder, num_labels=len(task.classes))
    model.load_state_dict(classifier.module.state_dict())
    classifier.module = Theirs(model)
    return classifier


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_training_with_dropout_equals_transformers_to_the_last_bit(
    name: str, made: Callable[[str], Backbone], task: Task
) -> None:
    backbone = made(name)
    ours = Classifier(backbone, task.classes, 7, Device("cpu", "fp32", fast=False))
    assert type(ours.encoder) is KINDS[name]
    texts, found = examples_of(backbone, task.train), []
    for classifier in (ours, theirs(backbone, task)):
        start, norm = classifier.weights(), gradient_norm(classifier, texts.source, texts.rows, texts.labels)
        learnt = fit(classifier, Plan(start, texts.rows), texts, None, texts.labels, RULES, 1, 1)
        logits = predict(classifier, texts.source, texts.rows).logits
        names = [name.removeprefix("model.") for name in learnt.weights]
        found.append((names, norm, list(learnt.weights.values()), logits))
        assert not same_weights(learnt.weights, start)
    one, other = found
    assert one[:2] == other[:2]  # names are in the same order, too
    assert all(torch.equal(a, b) for a, b in zip(one[2], other[2], strict=True))
    np.testing.assert_array_equal(one[3], other[3])


@pytest.mark.skipif(not HAS_MINILM, reason="all-MiniLM-L6-v2 was not fetched before")
def test_the_default_backbone_equals_transformers() -> None:
    saved = SavedModel.read(MINILM)
    assert saved is not None
    ours, theirs = encoder_of(saved, PLAIN), AutoModel.from_pretrained(MINILM).eval()
    assert ours is not None
    ids, mask = batch_of(0)
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=mask).last_hidden_state
        assert torch.equal(ours(PaddedBatch(ids, mask)), expected)


@pytest.mark.parametrize(("shape", "kind"), [((3, 9), torch.bool), ((3, 9), torch.int64), ((3, 1, 1, 9), torch.bool)])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_masks_over_keys_and_masks_ready_for_attention(
    name: str, made: Callable[[str], Backbone], shape: tuple[int, ...], kind: torch.dtype
) -> None:
    backbone = made(name)
    ours, theirs = read(backbone), AutoModel.from_pretrained(backbone.folder).eval()
    ids = torch.randint(5, 2000, (3, 9), generator=torch.Generator().manual_seed(0))
    visible = torch.arange(9) < torch.tensor([9, 4, 1])[:, None]
    for mask in (visible, torch.ones_like(visible)):
        expected = theirs(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        found = ours(PaddedBatch(ids, mask.view(shape).to(kind)))
        torch.testing.assert_close(found[mask], expected[mask], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", OWN)
def test_missing_configuration_fields_have_transformers_defaults(name: str) -> None:
    theirs, defaults = AutoConfig.for_model(name), OWN[name].defaults
    assert {field: getattr(theirs, field) for field in defaults} == defaults
    assert has_own_encoder(theirs.to_dict())


def test_a_checkpoint_that_only_transformers_reads_gets_our_encoder(
    made: Callable[[str], Backbone], task: Task
) -> None:
    backbone = made("roberta")
    expected = Classifier(backbone, task.classes, 7, Device("cpu", "fp32"))
    model = AutoModel.from_pretrained(backbone.folder)
    (backbone.folder / WEIGHTS).unlink()
    model.save_pretrained(backbone.folder, max_shard_size="100KB")
    assert not (backbone.folder / WEIGHTS).exists()
    found = Classifier(backbone, task.classes, 7, Device("cpu", "fp32"))
    assert found.packs
    assert same_weights(found.pretrained, expected.pretrained)


def test_half_precision_weights_are_read_as_float32(backbone: Backbone) -> None:
    weights = {name: value.half() for name, value in load_file(backbone.folder / WEIGHTS).items()}
    save_file(weights, backbone.folder / WEIGHTS, {"format": "pt"})
    body = read(backbone)
    theirs = AutoModel.from_pretrained(backbone.folder, dtype=torch.float32).state_dict()
    assert all(value.dtype == torch.float32 for value in body.state_dict().values())
    assert all(torch.equal(value, theirs[name]) for name, value in body.state_dict().items())


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "albert"}, {"hidden_act": "relu"}, {"is_decoder": True}, {"add_cross_attention": True},
        {"position_embedding_type": "relative_key"}, {"num_attention_heads": 5}, {"num_hidden_layers": 3},
        {"num_hidden_layers": 1}, {"chunk_size_feed_forward": 4}, {"auto_map": {"AutoModel": "code.Model"}},
    ],
)  # fmt: skip
def test_other_configurations_are_left_to_transformers(backbone: Backbone, changes: dict[str, Any]) -> None:
    assert type(read(backbone)) in (Bert, MPNet)
    path = backbone.folder / CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    assert read(backbone) is None


@pytest.mark.parametrize("what", ["missing", "unexpected", "another shape", "whole numbers"])
def test_other_weights_are_left_to_transformers(backbone: Backbone, what: str) -> None:
    weights, name = load_file(backbone.folder / WEIGHTS), "encoder.layer.1.output.dense.bias"
    if what == "missing":
        del weights[name]
    elif what == "unexpected":
        weights["encoder.layer.1.attention.distance.weight"] = torch.ones(3)
    else:
        weights[name] = torch.ones(5) if what == "another shape" else weights[name].long()
    save_file(weights, backbone.folder / WEIGHTS, {"format": "pt"})
    assert read(backbone) is None


@pytest.mark.parametrize("what", ["in another file", "cut off", "with an adapter"])
def test_incomplete_files_are_left_to_transformers(backbone: Backbone, what: str) -> None:
    file = backbone.folder / WEIGHTS
    if what == "in another file":
        shutil.move(file, backbone.folder / "model-00001-of-00001.safetensors")
    elif what == "cut off":
        file.write_bytes(file.read_bytes()[:-10])
    else:
        (backbone.folder / "adapter_config.json").write_text("{}")
    assert SavedModel.read(backbone.folder) is None
