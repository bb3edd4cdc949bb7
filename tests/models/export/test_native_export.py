from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertModel, pipeline

from hybridal.models.encoders.saved_model import SavedModel
from hybridal.models.export.native_export import (
    is_native_export,
    is_native_exportable,
    native_classifier,
    split_native_export,
)

from ..bodies import (
    HAS_MINILM,
    MINILM,
    OTHER,
    PLAIN,
    batch_of,
    body_of,
    expected,
    farthest,
    features_of,
    found,
    found_alone,
    head_of,
)


def names(count: int) -> list[str]:
    return [f"class {number}" for number in range(count)]


def saved_and_loaded(model: SavedModel, folder: Path, **options: Any) -> Any:
    model.write(folder)
    loaded, report = AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True, **options)
    assert not any(report.values()), report
    return loaded


@pytest.mark.parametrize("name", [*PLAIN])
class TestEveryArchitecture:
    # The last two: logits of ±20 and more; more classes than half the width, where a rectifier has no room for pairs.
    @pytest.mark.parametrize(
        ("classes", "size", "temperature"), [(2, 1, 1.0), (5, 3, 2.5), (9, 20, 0.8), (77, 20, 1.3)]
    )
    def test_plain_transformers_gives_the_same_probabilities(
        self, name: str, classes: int, size: float, temperature: float, tmp_path: Path
    ) -> None:
        body = body_of(name)
        batch = batch_of(body.config.pad_token_id)
        head = head_of(classes, size, features_of(body, *batch))
        truth = expected(body, *head, temperature, *batch)
        assert farthest(truth[:-1], truth[1:]) > 0.1  # texts differ
        model = saved_and_loaded(native_classifier(body, *head, temperature, names(classes)), tmp_path)
        assert type(model).__module__.startswith("transformers.models.")
        assert farthest(found(model, *batch), truth) < 3e-5
        assert farthest(found_alone(model, *batch), truth) < 3e-5

    @pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
    def test_half_precision_costs_no_more_accuracy_than_in_our_model(
        self, name: str, kind: torch.dtype, tmp_path: Path
    ) -> None:
        body, head = body_of(name), head_of(5, 3)
        batch = batch_of(body.config.pad_token_id)
        truth = expected(body, *head, 1.5, *batch)
        model = saved_and_loaded(native_classifier(body, *head, 1.5, names(5)), tmp_path, dtype=kind)
        weight, bias = (part.to(kind) for part in head)
        ours = expected(body.to(kind), weight, bias, 1.5, *batch)
        assert farthest(found(model, *batch), truth) < 2 * farthest(ours, truth) + 0.01

    def test_the_encoder_is_not_modified_and_can_be_extracted(self, name: str) -> None:
        body, head = body_of(name), head_of(5, 3)
        before = {name: value.clone() for name, value in body.state_dict().items() if "pooler" not in name}
        model = native_classifier(body, *head, 2.0, names(5))
        assert is_native_export(model)
        again, weight, bias = split_native_export(model)
        assert again.config.keys() == model.config.keys()
        layers = [{"n_layers", "num_hidden_layers"} & config.keys() for config in (model.config, again.config)]
        assert [config[name] for config, (name,) in zip((model.config, again.config), layers, strict=True)] == [3, 2]
        assert again.weights.keys() == before.keys()
        for weights in (body.state_dict(), again.weights):
            assert all(torch.equal(weights[name], value) for name, value in before.items())
        torch.testing.assert_close((weight, bias), (head[0] / 2, head[1] / 2))


def test_attention_with_additional_inputs_is_refused() -> None:
    assert all(is_native_exportable(body_of(name)) for name in PLAIN)
    assert not any(is_native_exportable(body_of(name)) for name in OTHER)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    assert not is_native_exportable(BertModel(BertConfig(is_decoder=True, **shape)))


def test_other_classifiers_are_recognised() -> None:
    config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    other = AutoModelForSequenceClassification.from_config(config)
    assert not is_native_export(SavedModel(config.to_diff_dict(), other.state_dict()))
    assert not is_native_export(SavedModel({"model_type": "albert"}, other.state_dict()))


@pytest.mark.skipif(not HAS_MINILM, reason="all-MiniLM-L6-v2 was not fetched before")
def test_a_pipeline_over_real_texts(tmp_path: Path) -> None:
    texts = ["Hi.", "The parcel came two days late, and we do not know why!", "word " * 150, "Où est la gare ?", ""]
    body, tokenizer = AutoModel.from_pretrained(MINILM).eval(), AutoTokenizer.from_pretrained(MINILM)
    head = head_of(6, 8, width=384)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    truth = expected(body, *head, 1.4, batch["input_ids"], batch["attention_mask"])
    native_classifier(body, *head, 1.4, names(6)).write(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["num_hidden_layers"] == 7
    for size in (1, len(texts)):
        answers = pipeline("text-classification", model=str(tmp_path), top_k=None, batch_size=size, device="cpu")(texts)
        scores = [{answer["label"]: answer["score"] for answer in row} for row in answers]
        assert farthest(torch.tensor([[row[name] for name in names(6)] for row in scores]), truth) < 1e-5
