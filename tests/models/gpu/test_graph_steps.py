from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hybridal.backbones import Backbone
from hybridal.core.outputs import Ints
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.gpu.graph_steps import GraphSteps
from hybridal.models.gpu.graphs import CudaGraphs
from hybridal.models.training.examples import Examples
from hybridal.models.training.fit import fit
from hybridal.models.training.learning_rate import rates
from hybridal.models.training.optimiser_steps import PlainSteps
from hybridal.tasks import Task
from hybridal.updates import Plan

from ..parts import ARCHITECTURES, classifier_of, examples_of, farthest, random_backbone, same_weights
from .parts import GRAPHS, PLAIN, Repeater, pair

RULES = protocol("paper", {"learning_rate": 1e-4})


def steps_of(classifier: Classifier) -> Any:
    return PlainSteps(classifier, RULES) if classifier.graphs is None else classifier.graphs.steps(RULES)


def repeated(classifier: Classifier) -> CudaGraphs:
    return CudaGraphs(classifier, Repeater())


def run(steps: Any, examples: Examples, batches: list[Ints], seed: int) -> None:
    steps.run(examples, batches, [RULES.learning_rate] * len(batches), seed)


def train(classifier: Classifier, steps: Any, examples: Examples, dropout: bool, seed: int = 5) -> dict[str, Any]:
    """Two epochs of whole batches and a smaller last one, from the beginning."""
    classifier.load(classifier.pretrained)
    steps.begin(None)
    rng = np.random.default_rng(0)
    with classifier.training(dropout):
        for epoch in range(2):
            run(steps, examples, examples.batches(16, rng), seed + epoch)
    return classifier.weights()


def assert_same_way(start: Mapping[str, Any], expected: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Both trainings moved every weight alike, as far as rounding lets them."""
    moved = farthest(expected, start)
    assert moved > 5e-4
    for name, weight in expected.items():
        # The bias of a key has no gradient but for rounding, which AdamW makes as large as any other; nor has what a
        # head learns of a number that is close to zero for each text.
        if not name.endswith(("key.bias", "k_lin.bias", "attn.k.bias")):
            assert float((weight - found[name]).abs().mean()) < 0.02 * moved, name


@pytest.mark.gpu
@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_graphs_train_as_the_plain_path_does(
    architecture: str, pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    plain, fast = pair(random_backbone(architecture, tiny.folder, tmp_path), task, pooling)
    texts = examples_of(tiny, task.train)
    expected, found = (train(c, steps_of(c), texts, dropout=False) for c in (plain, fast))
    assert_same_way(plain.pretrained, expected, found)


@pytest.mark.gpu
def test_graphs_read_each_step_s_own_rate(tiny: Backbone, task: Task) -> None:
    plain, fast = pair(tiny, task)
    rules = protocol("paper", {"learning_rate": 1e-3, "warmup": 0.5, "decay": True})
    texts, found = examples_of(tiny, task.train), []
    batches = texts.batches(16, np.random.default_rng(0))
    assert fast.graphs is not None
    for classifier, steps in ((plain, PlainSteps(plain, rules)), (fast, fast.graphs.steps(rules))):
        steps.begin(None)
        steps.run(texts, batches, rates(len(batches), rules).tolist(), 1)
        found.append(classifier.weights())
    assert_same_way(plain.pretrained, *found)


@pytest.mark.gpu
def test_a_round_that_starts_again_leaves_no_trace(tiny: Backbone, task: Task) -> None:
    _, fast = pair(tiny, task)
    texts, steps = examples_of(tiny, task.train), steps_of(fast)
    first = train(fast, steps, texts, dropout=True)
    assert same_weights(first, train(fast, steps, texts, dropout=True))
    assert farthest(first, train(fast, steps, texts, dropout=True, seed=6)) > 0


@pytest.mark.gpu
def test_dropout_trains_another_way_than_none(tiny: Backbone, task: Task) -> None:
    _, fast = pair(tiny, task)
    texts, steps = examples_of(tiny, task.train), steps_of(fast)
    assert farthest(train(fast, steps, texts, dropout=True), train(fast, steps, texts, dropout=False)) > 0


@pytest.mark.gpu
def test_moments_are_carried_on(tiny: Backbone, task: Task) -> None:
    _, fast = pair(tiny, task)
    texts, steps = examples_of(tiny, task.train), steps_of(fast)
    rng = np.random.default_rng(0)
    batches = [texts.batches(16, rng) for _ in range(2)]
    steps.begin(None)
    run(steps, texts, batches[0], 1)
    halfway, moments = fast.weights(), steps.moments()
    run(steps, texts, batches[1], 2)
    expected = fast.weights()
    fast.load(halfway)
    steps.begin(moments)
    run(steps, texts, batches[1], 2)
    assert same_weights(fast.weights(), expected)


@pytest.mark.gpu
def test_two_lanes_do_not_disturb_each_other(tiny: Backbone, task: Task) -> None:
    from concurrent.futures import ThreadPoolExecutor

    texts = examples_of(tiny, task.train)

    def lane(seed: int) -> dict[str, Any]:
        with torch.cuda.stream(torch.cuda.Stream()):
            _, fast = pair(tiny, task)
            steps = steps_of(fast)
            for _ in range(5):
                found = train(fast, steps, texts, dropout=True, seed=seed)
            torch.cuda.current_stream().synchronize()
            return found

    alone = [lane(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lane, range(4)))
    assert all(same_weights(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_recorded_step_equals_a_plain_step(architecture: str, tiny: Backbone, task: Task, tmp_path: Path) -> None:
    backbone = random_backbone(architecture, tiny.folder, tmp_path)
    plain, recorded = classifier_of(backbone, task), classifier_of(backbone, task)
    texts = examples_of(backbone, task.train)
    expected = train(plain, PlainSteps(plain, RULES), texts, dropout=False)
    found = train(recorded, GraphSteps(repeated(recorded), RULES), texts, dropout=False)
    assert_same_way(plain.pretrained, expected, found)


def test_other_rules_do_not_replay_the_steps_of_the_first(tiny: Backbone, task: Task) -> None:
    classifier, texts = classifier_of(tiny, task), examples_of(tiny, task.train)
    graphs = repeated(classifier)
    faster = protocol("paper", {"learning_rate": 1e-3})
    alone = train(classifier, GraphSteps(repeated(classifier), faster), texts, dropout=False)
    train(classifier, GraphSteps(graphs, RULES), texts, dropout=False)
    assert same_weights(train(classifier, GraphSteps(graphs, faster), texts, dropout=False), alone)


@pytest.mark.parametrize("on", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_steps_of_a_renewed_classifier_are_those_of_a_new_one(on: str, tiny: Backbone, task: Task) -> None:
    device, texts = Device(on, "fp32"), examples_of(tiny, task.train)
    used, new = (Classifier(tiny, task.classes, seed, device) for seed in (7, 9))
    for classifier in (used, new):
        classifier.graphs = classifier.graphs or repeated(classifier)
    steps = steps_of(used)
    train(used, steps, texts, dropout=False)
    used.reseed(9)
    assert same_weights(train(used, steps, texts, dropout=False), train(new, steps_of(new), texts, dropout=False))


def test_only_another_decay_makes_another_optimiser(tiny: Backbone, task: Task) -> None:
    """Each keeps two moments of every weight, and graphs of its own."""
    classifier, texts = classifier_of(tiny, task), examples_of(tiny, task.train, range(16))
    classifier.graphs = graphs = repeated(classifier)
    for changes in ({}, {"learning_rate": 1e-3}, {"train_batch": 8}, {"weight_decay": 0.5}):
        rules = protocol("paper", {"max_epochs": 1, "stop_after": None, **changes})
        fit(classifier, Plan(classifier.pretrained, texts.rows), texts, None, texts.labels, rules, 1, 1)
    assert sum(isinstance(made, GraphSteps) for made in graphs.recorder._made.values()) == 2


def trained_at_the_top(classifier: Classifier, texts: Examples) -> dict[str, Any]:
    """Two epochs of the last layer and what is above it."""
    source, steps = classifier.source(texts.source), steps_of(classifier)  # type: ignore[arg-type]
    return train(classifier, steps, Examples(source, texts.rows, texts.labels), dropout=False)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_frozen_layers_in_a_graph_equal_removed_ones(pooling: str, tiny: Backbone, task: Task) -> None:
    plain, texts = Device("cpu", "fp32", fast=False), examples_of(tiny, task.train)
    apart = Classifier(tiny, task.classes, 7, plain, train_layers=1, pooling=pooling)
    whole = Classifier(tiny, task.classes, 7, plain, train_layers=1, pooling=pooling)
    whole.graphs = repeated(whole)
    expected, found = trained_at_the_top(apart, texts), trained_at_the_top(whole, texts)
    assert {*found} == {*expected}
    assert {*whole.matrices()} == {*apart.matrices()}
    assert_same_way(apart.pretrained, expected, found)


@pytest.mark.gpu
@pytest.mark.parametrize("top", [0, 1])
@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "mpnet"])
def test_graphs_train_the_top_as_the_plain_path_does(
    architecture: str, top: int, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    backbone = random_backbone(architecture, tiny.folder, tmp_path)
    plain, fast = (Classifier(backbone, task.classes, 7, device, train_layers=top) for device in (PLAIN, GRAPHS))
    texts = examples_of(backbone, task.train)
    assert fast.graphs is not None
    assert {*fast.trainable()} == {*plain.trainable()}
    for one in (plain, fast):
        steps, source = steps_of(one), one.source(texts.source)  # type: ignore[arg-type]
        examples = Examples(source, texts.rows, texts.labels)
        batches = examples.batches(16, np.random.default_rng(0))
        with one.training(dropout=False):
            steps.begin(None)
            steps.run(examples, batches, [RULES.learning_rate] * len(batches), 5)
    assert_same_way(plain.pretrained, plain.weights(), fast.weights())
