from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from hybridal.backbones import Backbone
from hybridal.core.rounds import Cost, Round
from hybridal.core.rules import protocol
from hybridal.measures.multi_label import sigmoid
from hybridal.models.classifier import Classifier
from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.training.fit import fit
from hybridal.models.training.forward_passes import gradient_norm, predict, sampled_logits
from hybridal.runs.export import export_model
from hybridal.runs.settings import Settings
from hybridal.tasks import Task
from hybridal.testing.small import multi_label_task
from hybridal.updates import Plan

from .bodies import register_pooled
from .parts import ARCHITECTURES, LENGTH, classifier_of, examples_of, farthest, random_backbone, row_of
from .parts import same_weights as same

RULES = protocol("paper", {"learning_rate": 1e-3, "max_epochs": 1, "stop_after": None, "max_length": LENGTH})


# --- θ₀ ------------------------------------------------------------------------------------------------------------


def test_pretrained_weights_are_the_initial_weights(classifier: Classifier) -> None:
    assert same(classifier.pretrained, classifier.weights())


@pytest.mark.parametrize(
    ("name", "pooling"), [("bert", "mean"), ("bert", "first"), ("mpnet", "mean"), ("roberta", "first")]
)
def test_the_head_and_dtype_of_a_backbone_s_config_are_not_exported(
    name: str, pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    backbone = random_backbone(name, tiny.folder, tmp_path / "encoder")
    about = {"num_labels": 7, "problem_type": "multi_label_classification", "_name_or_path": "/home/jane"}
    path = backbone.folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | about | {"dtype": "float16", "torch_dtype": "float16"}))
    classifier = classifier_of(backbone, task, pooling=pooling)
    classifier.save(tmp_path / "saved")
    register_pooled()
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved").eval()
    assert model.dtype == torch.float32
    assert model.config.id2label == dict(enumerate(task.classes))
    assert model.config.problem_type == "single_label_classification"
    assert "/home/jane" not in (tmp_path / "saved" / "config.json").read_text()
    ids = torch.randint(5, 2000, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        theirs, ours = model(ids, attention_mask=mask).logits, classifier.run(PaddedBatch(ids, mask)).logits
    assert float((theirs - ours).abs().max()) < 1e-4


# --- weights in and out --------------------------------------------------------------------------------------------


def test_weights_are_copies(classifier: Classifier) -> None:
    taken = classifier.weights()
    with torch.no_grad():
        classifier.module.classifier.bias.add_(1.0)
    assert not taken["classifier.bias"].any()
    assert not classifier.pretrained["classifier.bias"].any()


@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("architecture", ["bert", "albert"])
def test_a_backbone_file_that_is_overwritten_changes_nothing(
    architecture: str, pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    backbone = random_backbone(architecture, tiny.folder, tmp_path / "backbone")
    classifier = classifier_of(backbone, task, pooling=pooling)
    before = classifier.weights()
    (file,) = backbone.folder.glob("*.safetensors")
    with file.open("r+b") as opened:
        opened.seek(file.stat().st_size // 2)
        opened.write(bytes(file.stat().st_size // 2))
    assert same(classifier.weights(), before)


def test_loaded_weights_are_copies(classifier: Classifier) -> None:
    given = {name: value + 1.0 for name, value in classifier.weights().items()}
    classifier.load(given)
    assert same(classifier.weights(), given)
    given["classifier.bias"].zero_()
    assert bool((classifier.module.classifier.bias == 1.0).all())
    classifier.load(classifier.pretrained)
    with torch.no_grad():
        classifier.module.classifier.bias.add_(5.0)
    assert not classifier.pretrained["classifier.bias"].any()


def test_matrices_are_those_of_the_linear_layers(classifier: Classifier) -> None:
    found = classifier.matrices()
    assert len(found) == 2 * 6 + 2  # query, key, value, output and two of feed-forward a layer; pooler and head
    assert all(matrix.ndim == 2 for matrix in found.values())
    assert not [name for name in found if "embeddings" in name]
    assert torch.equal(found["classifier"], classifier.pretrained["classifier.weight"])


# --- the global generator ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["load", "fit", "predict", "sample", "gradient"])
def test_the_global_generator_is_not_changed(action: str, classifier: Classifier, tiny: Backbone, task: Task) -> None:
    few = examples_of(tiny, task.train, range(6))
    actions: dict[str, Callable[[], object]] = {
        "load": lambda: classifier_of(tiny, task),
        "fit": lambda: fit(classifier, Plan(classifier.pretrained, few.rows), few, None, few.labels, RULES, 1, 1),
        "predict": lambda: predict(classifier, few.source, few.rows, features=True),
        "sample": lambda: sampled_logits(classifier, few.source, few.rows, 2, seed=1),
        "gradient": lambda: gradient_norm(classifier, few.source, few.rows, few.labels),
    }
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002 - the legacy generator is what must not be drawn from
    before: Any = torch.get_rng_state()
    numpy_before: Any = np.random.get_state()  # noqa: NPY002
    actions[action]()
    assert torch.equal(before, torch.get_rng_state())
    numpy_after: Any = np.random.get_state()  # noqa: NPY002
    assert np.array_equal(numpy_before[1], numpy_after[1])
    assert numpy_before[2] == numpy_after[2]


def test_dropout_is_off_outside_training_even_after_an_error(classifier: Classifier) -> None:
    def fail() -> None:
        with classifier.training(dropout=True):
            assert classifier.module.training
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    assert not any(layer.training for layer in classifier.module.modules())
    with classifier.training(dropout=False):
        assert not classifier.module.training


# --- each architecture, from its folder to the exported model ------------------------------------------------------


def head_of(backbone: Backbone) -> str:
    return ARCHITECTURES[backbone.name][2]


def test_every_architecture_learns_and_shows_its_features(backbone: Backbone, task: Task) -> None:
    classifier, examples = classifier_of(backbone, task), examples_of(backbone, task.train)
    plan = Plan(classifier.pretrained, examples.rows)
    found = fit(classifier, plan, examples, None, examples.labels, RULES, 1, 1)
    still = [name for name in found.weights if torch.equal(found.weights[name], classifier.pretrained[name])]
    assert still == []  # every parameter is trained
    assert farthest(found.weights, classifier.pretrained) < 0.1

    outputs = predict(classifier, examples.source, examples.rows, features=True)
    assert outputs.hidden is not None
    assert outputs.embedding is not None
    module = classifier.module
    with torch.no_grad():
        for row in range(0, len(task.train), 9):
            alone = module.body(PaddedBatch(row_of(examples.source, row)))[0, 0]
            np.testing.assert_allclose(outputs.hidden[row], alone.numpy(), atol=1e-4)
    weight, bias = found.weights[f"{head_of(backbone)}.weight"], found.weights[f"{head_of(backbone)}.bias"]
    np.testing.assert_allclose(
        outputs.logits, outputs.embedding @ weight.numpy().T + bias.numpy(), atol=1e-4, rtol=1e-4
    )
    assert np.ptp(outputs.logits, axis=0).min() > 1e-3  # the texts differ, so the comparison says something


def test_every_architecture_is_exported_for_transformers(backbone: Backbone, task: Task, tmp_path: Path) -> None:
    classifier, examples = classifier_of(backbone, task), examples_of(backbone, task.train, range(20))
    fit(classifier, Plan(classifier.pretrained, examples.rows), examples, None, examples.labels, RULES, 1, 1)
    record = Round(1, "retrain", "R", 20, Cost(), 1, None, None, None, {}, (), ())
    settings = Settings("toy", backbone=backbone.name, overrides={"max_length": LENGTH})
    export_model(classifier, backbone.encoder(LENGTH), task, settings, record, tmp_path / "model")

    module = AutoModelForSequenceClassification.from_pretrained(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert module.config.id2label == {0: "sport", 1: "food"}
    assert module.config.label2id == {"sport": 0, "food": 1}
    with torch.no_grad():
        encoded = tokenizer(list(task.train.texts[:20]), padding=True, return_tensors="pt")
        theirs = module(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
    ours = predict(classifier, examples.source, examples.rows).logits
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)
    assert same(dict(module.named_parameters()), classifier.weights())


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_every_architecture_is_exported_for_pipelines_with_several_labels(
    backbone: Backbone, pooling: str, tmp_path: Path
) -> None:
    task = multi_label_task(train=12, validation=0, test=0)
    classifier, examples = classifier_of(backbone, task, pooling=pooling), examples_of(backbone, task.train)
    record = Round(1, "retrain", "R", 20, Cost(), 1, 1.7, None, None, {}, (), (), thresholds=(0.2, 0.4, 0.6))
    settings = Settings("topics", backbone=backbone.name, overrides={"max_length": LENGTH})
    export_model(classifier, backbone.encoder(LENGTH), task, settings, record, tmp_path / "model")

    register_pooled()
    classify = pipeline("text-classification", model=str(tmp_path / "model"), top_k=None, device="cpu")
    answers = [{one["label"]: one["score"] for one in row} for row in classify([*task.train.texts], truncation=True)]
    ours = sigmoid(predict(classifier, examples.source, examples.rows).logits, 1.7)
    np.testing.assert_allclose([[row[name] for name in task.classes] for row in answers], ours, atol=1e-4)
    assert np.ptp(ours, axis=0).min() > 1e-3
    assert classify.model.config.thresholds == [0.2, 0.4, 0.6]
    texts = classify.tokenizer(["a text"], return_tensors="pt")
    texts = {name: texts[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        found = classify.model(**texts, labels=torch.tensor([[1.0, 0.0, 1.0]]))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(found.logits, torch.tensor([[1.0, 0.0, 1.0]]))
    assert float(found.loss) == pytest.approx(float(loss))


def test_the_longest_text_that_is_allowed_can_be_read(backbone: Backbone, task: Task) -> None:
    assert backbone.max_positions == LENGTH
    classifier, encoder = classifier_of(backbone, task), backbone.encoder(LENGTH)
    ids = torch.tensor(encoder.encode(["goal " * 100]))
    assert ids.shape == (1, LENGTH)
    assert bool(classifier.run(PaddedBatch(ids)).logits.isfinite().all())


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_the_head_of_the_embedding_gives_the_logits(tiny: Backbone, task: Task, pooling: str) -> None:
    classifier = classifier_of(tiny, task, pooling=pooling)
    examples = examples_of(tiny, task.train, np.arange(5))
    outputs = predict(classifier, examples.source, examples.rows, features=True)
    assert outputs.embedding is not None
    np.testing.assert_allclose(classifier.head().logits(outputs.embedding), outputs.logits, atol=1e-5)
