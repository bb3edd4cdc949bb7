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
from transformers import AutoModel, BertConfig, BertModel, MPNetConfig, MPNetModel

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders import cls_token_classifier as first
from hybridal.models.encoders import mean_classifier as pooled
from hybridal.models.encoders.bert import Bert
from hybridal.models.encoders.mean_classifier import PooledClassifier
from hybridal.models.encoders.mpnet import MPNet
from hybridal.models.encoders.own_encoders import OURS, USUAL, encoder_of
from hybridal.models.encoders.packing import teach_masks
from hybridal.models.encoders.saved_model import CONFIG, WEIGHTS, Saved
from hybridal.models.training.examples import Examples
from hybridal.models.training.fit import fit
from hybridal.models.training.forward_passes import gradient_norm, predict
from hybridal.tasks import Task
from hybridal.updates import Plan

from ..bodies import HAS_MINILM, MINILM
from ..parts import examples_of, random_backbone, same_weights

RULES = protocol(
    "paper", {"learning_rate": 1e-3, "max_epochs": 2, "stop_after": None, "max_length": 32, "train_batch": 8}
)
PATHS = [
    ("bert", True, None), ("bert", False, None), ("bert", True, 1), ("bert", False, 1), ("bert", True, 0),
    ("mpnet", True, None), ("mpnet", False, None),
]  # fmt: skip
KINDS = {"bert": (Bert, BertModel), "mpnet": (MPNet, MPNetModel)}


@pytest.fixture
def made(tiny: Backbone, tmp_path: Path) -> Callable[[str], Backbone]:
    """A backbone of this architecture, to be altered."""
    return lambda name: random_backbone(name, tiny.folder, tmp_path / name)


@pytest.fixture(params=[*KINDS])
def backbone(request: pytest.FixtureRequest, made: Callable[[str], Backbone]) -> Backbone:
    return made(request.param)


def read(backbone: Backbone) -> Any:
    saved = Saved.read(backbone.folder)
    return None if saved is None else encoder_of(saved)


def pair(
    backbone: Backbone, task: Task, monkeypatch: pytest.MonkeyPatch, fast: bool, top: int | None, pooling: str
) -> list[Classifier]:
    """The same classifier over our encoder, and over that of transformers."""

    def new() -> Classifier:
        return Classifier(backbone, task.classes, 7, Device("cpu", "fp32", fast=fast), top, pooling=pooling)

    ours = new()
    for place in (pooled, first):
        monkeypatch.setattr(place, "encoder_of", lambda _saved: None)
    return [ours, new()]


@pytest.mark.parametrize(
    ("name", "fast", "top", "pooling"),
    [(*path, pooling) for path in PATHS for pooling in ("mean", "first") if (path[0], pooling) != ("mpnet", "first")],
)
def test_trained_with_dropout_it_is_transformers_own_to_the_last_bit(
    name: str,
    fast: bool,
    top: int | None,
    pooling: str,
    made: Callable[[str], Backbone],
    task: Task,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Any] = []
    backbone = made(name)
    for classifier in pair(backbone, task, monkeypatch, fast, top, pooling):
        texts = examples_of(backbone, task.train)
        source: Any = classifier.source(texts.source)  # type: ignore[arg-type]
        examples = Examples(source, texts.rows, texts.labels)
        start, norm = classifier.weights(), gradient_norm(classifier, source, texts.rows, texts.labels)
        learnt = fit(classifier, Plan(start, texts.rows), examples, None, texts.labels, RULES, 1, 1)
        assert not same_weights(learnt.weights, start)
        said = predict(classifier, source, texts.rows, features=True)
        found.append((type(classifier.module.base_model), start, norm, learnt, said))
    (ours, *one), (theirs, *other) = found
    assert (ours, theirs) == KINDS[name]
    assert [*one[0]] == [*other[0]]  # in the same order too
    assert same_weights(one[0], other[0])
    assert one[1] == other[1]
    assert same_weights(one[2].weights, other[2].weights)
    for part in ("logits", "hidden", "embedding"):
        np.testing.assert_array_equal(getattr(one[3], part), getattr(other[3], part))


@pytest.mark.skipif(not HAS_MINILM, reason="all-MiniLM-L6-v2 was not fetched before")
@pytest.mark.parametrize("fast", [True, False])
def test_the_default_backbone_says_the_same(task: Task, monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    minilm = Backbone("minilm", MINILM)
    texts = examples_of(minilm, task.train, range(12))
    ours, theirs = pair(minilm, task, monkeypatch, fast, None, "mean")
    assert [type(classifier.module.body) for classifier in (ours, theirs)] == [Bert, BertModel]
    one, other = (predict(classifier, texts.source, texts.rows).logits for classifier in (ours, theirs))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("shape", "kind"), [((3, 9), torch.bool), ((3, 9), torch.int64), ((3, 1, 1, 9), torch.bool)])
def test_a_mask_over_keys_alone_and_one_over_heads_and_queries_too(
    backbone: Backbone, shape: tuple[int, ...], kind: torch.dtype
) -> None:
    ours, theirs = read(backbone), AutoModel.from_pretrained(backbone.folder).eval()
    for body in (ours, theirs):
        body.pooler = None
        teach_masks(PooledClassifier(body, 2))
    ids = torch.randint(5, 2000, (3, 9), generator=torch.Generator().manual_seed(0))
    shown = torch.arange(9) < torch.tensor([9, 4, 1])[:, None]
    for mask in (shown, torch.ones_like(shown)):
        given = {"input_ids": ids, "attention_mask": mask.view(shape).to(kind)}
        assert torch.equal(ours(**given).last_hidden_state, theirs(**given).last_hidden_state)


@pytest.mark.parametrize("theirs", [BertConfig(), MPNetConfig()], ids=["bert", "mpnet"])
def test_what_a_configuration_does_not_say_means_what_it_means_there(theirs: Any) -> None:
    defaults = OURS[theirs.model_type][1]
    assert {name: getattr(theirs, name) for name in defaults} == defaults
    said = theirs.to_dict()
    assert all(said.get(name, usual) == usual for name, usual in USUAL.items())


def test_half_precision_is_read_as_whole(backbone: Backbone) -> None:
    weights = {name: value.half() for name, value in load_file(backbone.folder / WEIGHTS).items()}
    save_file(weights, backbone.folder / WEIGHTS, {"format": "pt"})
    body = read(backbone)
    theirs = AutoModel.from_pretrained(backbone.folder, dtype=torch.float32).state_dict()
    assert all(value.dtype == torch.float32 for value in body.state_dict().values())
    assert all(torch.equal(value, theirs[name]) for name, value in body.state_dict().items())


@pytest.mark.parametrize(
    "said",
    [
        {"model_type": "roberta"}, {"hidden_act": "relu"}, {"is_decoder": True}, {"add_cross_attention": True},
        {"position_embedding_type": "relative_key"}, {"num_attention_heads": 5}, {"num_hidden_layers": 3},
        {"num_hidden_layers": 1}, {"chunk_size_feed_forward": 4}, {"auto_map": {"AutoModel": "code.Model"}},
    ],
)  # fmt: skip
def test_what_is_configured_otherwise_is_left_to_transformers(backbone: Backbone, said: dict[str, Any]) -> None:
    assert type(read(backbone)) in (Bert, MPNet)
    path = backbone.folder / CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), **said}))
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
def test_files_that_are_not_whole_are_left_to_transformers(backbone: Backbone, what: str) -> None:
    file = backbone.folder / WEIGHTS
    if what == "in another file":
        shutil.move(file, backbone.folder / "model-00001-of-00001.safetensors")
    elif what == "cut off":
        file.write_bytes(file.read_bytes()[:-10])
    else:
        (backbone.folder / "adapter_config.json").write_text("{}")
    assert Saved.read(backbone.folder) is None
