from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from hybridal.backbones import Backbone
from hybridal.errors import UserError
from hybridal.models.classifier import Classifier
from hybridal.models.loading import can_draw, load_module
from hybridal.models.torch_generators import seeded
from hybridal.tasks import Task

from .parts import ARCHITECTURES, CPU, classifier_of
from .parts import same_weights as same


def body_and_head(classifier: Classifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """Weights that the backbone brought, under its own names, and the others."""
    module = classifier.module
    prefix = next(f"{name}." for name, part in module.named_children() if part is module.body)
    weights = classifier.weights()
    body = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
    return body, {name: value for name, value in weights.items() if not name.startswith(prefix)}


def test_the_body_is_the_saved_one_and_the_head_belongs_to_the_seed(backbone: Backbone, task: Task) -> None:
    torch.manual_seed(1)
    body, head = body_and_head(classifier_of(backbone, task, seed=1))
    torch.rand(99)
    again_body, again_head = body_and_head(classifier_of(backbone, task, seed=1))
    _, other_head = body_and_head(classifier_of(backbone, task, seed=2))
    saved = load_file(backbone.folder / "model.safetensors")
    assert same(body, {name: saved[name] for name in body})
    assert same(body, again_body)
    assert same(head, again_head)
    matrices = [name for name in head if name.endswith("weight")]
    assert matrices
    for name in head:
        if name in matrices:
            assert not torch.equal(head[name], other_head[name])
        else:
            assert not head[name].any()


def test_the_head_is_drawn_from_the_normal_distribution_of_the_configuration(backbone: Backbone, task: Task) -> None:
    drawn = torch.cat(
        [classifier_of(backbone, task, s).matrices()[ARCHITECTURES[backbone.name][2]].ravel() for s in range(9)]
    )
    assert float(drawn.std()) == pytest.approx(0.3, rel=0.15)
    assert abs(float(drawn.mean())) < 0.05


def test_a_backbone_without_a_pooler_gets_one_of_the_seed(
    tiny: Backbone, task: Task, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "bare")
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith("pooler.")}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    first, again, other = (classifier_of(Backbone("bare", folder), task, seed).weights() for seed in (1, 1, 2))
    assert same(first, again)
    assert not torch.equal(first["bert.pooler.dense.weight"], other["bert.pooler.dense.weight"])
    assert not caplog.records
    assert can_draw(*load_module(Backbone("bare", folder), task.classes, 1, "first"))


def test_a_norm_that_is_missing_is_mentioned_and_the_same_each_time(
    tiny: Backbone, task: Task, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "torn")
    weights = load_file(folder / "model.safetensors")
    del weights["embeddings.LayerNorm.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    first, again = (classifier_of(Backbone("torn", folder), task).weights() for _ in range(2))
    assert same(first, again)
    assert "no weights for bert.embeddings.LayerNorm.weight" in caplog.text
    assert not can_draw(*load_module(Backbone("torn", folder), task.classes, 7, "first"))


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_an_encoder_without_one_of_its_layers_is_refused(
    pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "torn")
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "layer.1.attention" not in name}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"no weights for `.*layer\.1\.attention.*` and 3 more, which its config\.json"):
        classifier_of(Backbone("torn", folder), task, pooling=pooling)


@pytest.mark.parametrize("kept", [0, 5000])
def test_weights_that_were_cut_off_are_refused(kept: int, tiny: Backbone, task: Task, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "half")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(UserError, match=r"model\.safetensors is damaged \(.*header"):
        classifier_of(Backbone("half", folder), task)


def test_folder_without_an_encoder_is_refused(tiny: Backbone, task: Task, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(UserError, match="Backbone 'mine' cannot be loaded as a text classifier: "):
        classifier_of(Backbone("mine", tmp_path), task)


def test_a_head_of_other_classes_is_refused(classifier: Classifier, tmp_path: Path) -> None:
    classifier.save(tmp_path)
    hint = (
        r"3 classes: its `classifier\.bias` has another shape; choose `pooling=mean`, which replaces its head, or an "
    )
    with pytest.raises(UserError, match=hint) as told:
        Classifier(Backbone("mine", tmp_path), ("a", "b", "c"), 0, CPU)
    assert told.value.field == "protocol.pooling"
    assert len(Classifier(Backbone("mine", tmp_path), ("a", "b", "c"), 0, CPU, pooling="mean").classes) == 3


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_an_encoder_of_another_size_than_its_configuration_is_refused(
    pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "other")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": config["vocab_size"] + 1}))
    with pytest.raises(UserError, match=r"word_embeddings\.weight` has another shape than its config\.json says; copy"):
        classifier_of(Backbone("other", folder), task, pooling=pooling)


def test_seeded_generator_draws_what_torch_draws() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        wanted = torch.rand(5)
    with seeded(3):
        assert torch.equal(torch.rand(5), wanted)


def test_global_generator_is_restored_after_an_error() -> None:
    before = torch.get_rng_state()

    def fail() -> None:
        with seeded(3):
            torch.rand(5)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    assert torch.equal(before, torch.get_rng_state())


def test_the_generator_of_an_apple_gpu_is_put_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    state = [7]
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: torch.tensor(state))
    monkeypatch.setattr(torch.mps, "set_rng_state", lambda kept: state.__setitem__(0, int(kept)))
    monkeypatch.setattr(torch.mps, "manual_seed", lambda seed: state.__setitem__(0, seed))
    with seeded(3):
        assert state == [3]
    assert state == [7]


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_pickled_weights_are_refused_unread(tiny: Backbone, tmp_path: Path, pooling: str) -> None:
    folder = tmp_path / "foreign"
    shutil.copytree(tiny.folder, folder)
    (folder / "model.safetensors").unlink()
    torch.save({"trap": Trap(tmp_path / "sprung")}, folder / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"pytorch_model\.bin only, a pickle"):
        load_module(Backbone("foreign", folder), ("a", "b"), 0, pooling)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_code_in_the_folder_is_not_run(
    tiny: Backbone, tmp_path: Path, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an explicit no, transformers asks at the terminal whether it may run the folder's code."""
    folder = tmp_path / "foreign"
    shutil.copytree(tiny.folder, folder)
    (folder / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\nclass C: pass\n")
    config = json.loads((folder / "config.json").read_text())
    names = ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification")
    config |= {"model_type": "no_progress-of", "auto_map": dict.fromkeys(names, "trap.C")}
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(UserError, match="cannot be loaded as a text classifier"):
        load_module(Backbone("foreign", folder), ("a", "b"), 0, pooling)
    assert not (tmp_path / "sprung").exists()
