from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.classifier_cache import ClassifierCache, classifier_for
from hybridal.models.training.examples import Examples
from hybridal.models.training.fit import fit
from hybridal.tasks import Task
from hybridal.updates import Plan

from .parts import CPU, LENGTH, examples_of, same_weights

RULES = protocol("paper", {"learning_rate": 1e-3, "max_epochs": 1, "stop_after": None, "max_length": LENGTH})


def asked(backbone: Backbone, task: Task, seed: int = 1, pooling: str = "mean", top: int | None = None) -> Classifier:
    return classifier_for(backbone, task.classes, seed, CPU, top, pooling)


def trained(classifier: Classifier, backbone: Backbone, task: Task) -> Classifier:
    tokens = examples_of(backbone, task.train)
    examples = Examples(classifier.source(tokens.source), tokens.rows, tokens.labels)  # type: ignore[arg-type]
    fit(classifier, Plan(classifier.pretrained, examples.rows), examples, None, examples.labels, RULES, 3, 1)
    return classifier


@pytest.mark.parametrize(("pooling", "top"), [("mean", None), ("first", None), ("first", 1)])
def test_reused_classifier_equals_a_new_one(tiny: Backbone, task: Task, pooling: str, top: int | None) -> None:
    kept, new = ClassifierCache(), Classifier(tiny, task.classes, 2, CPU, top, pooling)
    with kept.activate():
        used = trained(asked(tiny, task, 1, pooling, top), tiny, task)
    with kept.activate():
        again = asked(tiny, task, 2, pooling, top)
    assert again is used
    for found in (again, again.clone()):
        assert same_weights(found.pretrained, new.pretrained)
        assert same_weights(found.weights(), new.weights())
    assert same_weights(trained(again, tiny, task).weights(), trained(new, tiny, task).weights())


def test_another_configuration_gets_another_classifier(tiny: Backbone, task: Task) -> None:
    kept, found = ClassifierCache(), list[Classifier]()
    for pooling in ("mean", "first", "first", "mean"):
        with kept.activate():
            found.append(asked(tiny, task, pooling=pooling))
    first, other, again, last = found
    assert again is other is not first
    assert last is not first  # only the last one is kept


def test_borrowed_classifier_is_not_lent_twice(tiny: Backbone, task: Task) -> None:
    kept = ClassifierCache()
    with kept.activate():
        mine = asked(tiny, task, 1)
    with kept.activate():
        mine = asked(tiny, task, 2)
        before = mine.weights()
        assert asked(tiny, task, 3) is not mine
        assert same_weights(mine.weights(), before)


def test_a_cell_with_several_encoders_gets_all_of_them_again(tiny: Backbone, task: Task) -> None:
    kept, found = ClassifierCache(), list[list[Classifier]]()
    for seed in (1, 2):
        with kept.activate():
            found.append([asked(tiny, task, seed, pooling) for pooling in ("mean", "first")])
    assert all(one is other for one, other in zip(*found, strict=True))


def test_classifier_with_seeded_body_weights_is_not_reused(tiny: Backbone, task: Task, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "torn")
    weights = load_file(folder / "model.safetensors")
    del weights["embeddings.LayerNorm.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    kept, torn = ClassifierCache(), Backbone("torn", folder)
    for pooling in ("mean", "first"):
        with kept.activate():
            first = asked(torn, task, pooling=pooling)
        with kept.activate():
            assert asked(torn, task, pooling=pooling) is not first


def test_a_missing_pooler_is_drawn_for_each_seed(tiny: Backbone, task: Task, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "bare")
    weights = load_file(folder / "model.safetensors")
    del weights["pooler.dense.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    kept, bare = ClassifierCache(), Backbone("bare", folder)
    for seed in (1, 2):
        with kept.activate():
            found = asked(bare, task, seed, "first")
        assert same_weights(found.weights(), Classifier(bare, task.classes, seed, CPU, pooling="first").weights())


def test_classifier_of_a_failed_cell_is_not_reused(tiny: Backbone, task: Task) -> None:
    kept, found = ClassifierCache(), list[Classifier]()

    def stop() -> None:
        with kept.activate():
            found.append(asked(tiny, task))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    with kept.activate():
        assert asked(tiny, task) is not found[0]


def test_cache_applies_only_inside_its_block_and_thread(tiny: Backbone, task: Task) -> None:
    kept, found = ClassifierCache(), list[Classifier]()
    with kept.activate():
        found.append(asked(tiny, task))
        other = threading.Thread(target=lambda: found.append(asked(tiny, task)))
        other.start()
        other.join(60)
    found.append(asked(tiny, task))
    assert len({id(one) for one in found}) == 3
