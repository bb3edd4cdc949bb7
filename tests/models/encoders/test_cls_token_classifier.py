from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from hybridal.backbones import Backbone
from hybridal.errors import UserError
from hybridal.models.classifier import Classifier
from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.encoders.cls_token_classifier import BertClassifier, ClsTokenClassifier
from hybridal.models.encoders.layers import Build
from hybridal.models.encoders.saved_model import WEIGHTS
from hybridal.models.loading import load_cls_token_classifier
from hybridal.tasks import Task

from ..parts import ARCHITECTURES, classifier_of, random_backbone

POOLER = ("bert.pooler.dense.weight", "bert.pooler.dense.bias")
BUILD = Build(first_token_only=True)


@pytest.fixture
def backbone(tiny: Backbone, tmp_path: Path) -> Backbone:
    return random_backbone("bert", tiny.folder, tmp_path / "bert")


def with_pooler(backbone: Backbone, pooler: dict[str, Any]) -> None:
    """The same encoder with another pooler, or none."""
    weights = load_file(backbone.folder / WEIGHTS)
    kept = {name: value for name, value in weights.items() if f"bert.{name}" not in POOLER}
    save_file({**kept, **pooler}, backbone.folder / WEIGHTS, {"format": "pt"})


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_saved_classifier_equals_transformers(architecture: str, tiny: Backbone, task: Task, tmp_path: Path) -> None:
    classifier = classifier_of(random_backbone(architecture, tiny.folder, tmp_path / "encoder"), task)
    assert isinstance(classifier.module, ClsTokenClassifier)
    classifier.save(tmp_path / "saved")
    model, loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not any(loaded[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert model.config.id2label == dict(enumerate(task.classes))
    ids = torch.randint(5, 2000, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        ours = classifier.run(PaddedBatch(ids, mask)).logits
        torch.testing.assert_close(model.eval()(ids, attention_mask=mask).logits, ours)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_saved_classifier_loads_without_transformers(
    architecture: str, tiny: Backbone, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = classifier_of(random_backbone(architecture, tiny.folder, tmp_path / "encoder"), task)
    classifier.save(tmp_path / "saved")
    monkeypatch.setattr(AutoModelForSequenceClassification, "from_pretrained", None)
    module, missing = load_cls_token_classifier(Backbone("saved", tmp_path / "saved"), task.classes, BUILD)
    assert missing == []
    wanted = classifier.module.state_dict()
    assert all(torch.equal(value, wanted[name]) for name, value in module.state_dict().items())


def test_a_head_of_other_classes_is_refused(backbone: Backbone, task: Task, tmp_path: Path) -> None:
    classifier_of(backbone, task).save(tmp_path / "saved")
    with pytest.raises(UserError, match=r"its `classifier.bias` has another shape"):
        load_cls_token_classifier(Backbone("saved", tmp_path / "saved"), [*task.classes, "more"], BUILD)


def test_missing_pooler_is_initialised_like_the_head(backbone: Backbone, task: Task) -> None:
    with_pooler(backbone, {})
    module, missing = load_cls_token_classifier(backbone, task.classes, BUILD)
    assert isinstance(module, BertClassifier)
    assert missing == ["bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight", "classifier.bias"]
    one, same, other = (
        Classifier(backbone, task.classes, seed, classifier_of(backbone, task).device) for seed in (1, 1, 2)
    )
    name = "bert.pooler.dense.weight"
    assert torch.equal(one.pretrained[name], same.pretrained[name])
    assert not torch.equal(one.pretrained[name], other.pretrained[name])
    assert one.pretrained["bert.pooler.dense.bias"].eq(0).all()


def test_a_pooler_of_another_shape_is_refused(backbone: Backbone, task: Task) -> None:
    names = (name.removeprefix("bert.") for name in POOLER)
    with_pooler(backbone, dict(zip(names, (torch.ones(3, 3), torch.ones(3)), strict=True)))
    with pytest.raises(ValueError, match=r"its `bert.pooler.dense.bias` has another shape"):
        load_cls_token_classifier(backbone, task.classes, BUILD)
