from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, dynamic_module_utils, pipeline
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from hybridal.backbones import Backbone
from hybridal.errors import UserError
from hybridal.models.export.native_export import is_native_exportable
from hybridal.models.export.portable_export import (
    load_model,
    pooled_classifier,
    read_portable,
    save_portable,
)

from ..bodies import PLAIN, batch_of, body_of, expected, farthest, found, found_alone, head_of, register_pooled

CLASSES = ["good", "fair", "bad"]


@pytest.mark.parametrize("name", ["mpnet", "bert", "distilbert", "roberta"])
def test_any_encoder_can_be_saved_with_its_code(name: str, tmp_path: Path) -> None:
    body, head = body_of(name), head_of(3, 5)
    batch = batch_of(body.config.pad_token_id)
    truth = expected(body, *head, 1.7, *batch)
    pooled_classifier(body, *head, 1.7, CLASSES).save_pretrained(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors", "pooled_modeling.py"}
    register_pooled()
    model, report = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    assert farthest(found(model, *batch), truth) < 1e-5
    assert farthest(found_alone(model, *batch), truth) < 1e-5
    assert model.config.id2label == dict(enumerate(CLASSES))
    assert model(input_ids=batch[0], labels=torch.zeros(len(batch[0]), dtype=torch.long)).loss > 0


@pytest.mark.parametrize("name", ["mpnet", *PLAIN])
def test_a_saved_model_is_read_back_as_body_and_head(name: str, tmp_path: Path) -> None:
    body, head = body_of(name), head_of(3, 5)
    save_portable(body, *head, 1.7, CLASSES, tmp_path)
    assert (AutoConfig.from_pretrained(tmp_path).model_type == name) == is_native_exportable(body)
    saved, weight, bias = read_portable(tmp_path)
    batch, again = batch_of(body.config.pad_token_id), load_model(saved)
    assert type(again) is type(body)
    assert not again.training
    assert farthest(expected(again, weight, bias, 1.0, *batch), expected(body, *head, 1.7, *batch)) < 1e-5


def test_foreign_classifier_code_is_refused(tmp_path: Path) -> None:
    config = body_of("bert").config
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(UserError, match=f"{tmp_path} holds a classifier that hybridal did not export"):
        read_portable(tmp_path)


def test_exported_folder_loads_without_hybridal(
    tiny: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CONFIG_MAPPING, "_extra_content", {})  # as if transformers had never heard of us
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    texts, folder = ["goal", "a match and a goal " * 3], str(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(tiny.folder)
    tokenizer.save_pretrained(folder)
    body, head = body_of("mpnet"), head_of(3, 5)
    save_portable(body, *head, 1.7, CLASSES, Path(folder))
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=False)
    classify = pipeline("text-classification", model=folder, top_k=None, device="cpu", trust_remote_code=True)
    assert type(classify.model).__module__.startswith("transformers_modules.")
    assert not re.search("^ *(from|import) hybridal", (tmp_path / "model" / "pooled_modeling.py").read_text(), re.M)
    scores = [{answer["label"]: answer["score"] for answer in row} for row in classify(texts)]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    truth = expected(body, *head, 1.7, batch["input_ids"], batch["attention_mask"])
    assert farthest(torch.tensor([[row[name] for name in CLASSES] for row in scores]), truth) < 1e-5
