from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from hybridal.backbones import Backbone
from hybridal.core.outputs import Ints, Outputs
from hybridal.core.rules import Rules, protocol
from hybridal.models.classifier import Classifier
from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.model_protocol import Fit
from hybridal.models.training.early_stopping import validation_loss
from hybridal.models.training.examples import Examples
from hybridal.models.training.fit import fit
from hybridal.models.training.learning_rate import rates
from hybridal.randomness import stream
from hybridal.tasks import Task
from hybridal.updates import Plan

from ..parts import classifier_of, examples_of, farthest, row_of, same_weights

RULES = protocol(
    "paper",
    {"learning_rate": 1e-3, "weight_decay": 0.1, "train_batch": 8, "max_epochs": 3, "stop_after": None},
)
NO_LABELS: Ints = np.empty(0, dtype=np.int64)


@pytest.fixture
def examples(tiny: Backbone, task: Task) -> Examples:
    """Rows that are neither all nor in order, and no multiple of the batch."""
    return examples_of(tiny, task.train, stream(0, "rows").permutation(len(task.train))[:21])


def rules_of(**changes: Any) -> Rules:
    return protocol("paper", {"learning_rate": 1e-3, "train_batch": 8, **changes})


def train(
    classifier: Classifier, examples: Examples, rules: Rules = RULES, seed: int = 5, round: int = 2, **plan: Any
) -> Fit:
    """`fit` without validation, from the pretrained weights unless the plan says otherwise."""
    asked = Plan(**{"weights": classifier.pretrained, "rows": examples.rows, "dropout": False, **plan})
    return fit(classifier, asked, examples, None, NO_LABELS, rules, seed, round)


# --- the arithmetic ------------------------------------------------------------------------------------------------


class PlainLoop:
    """Training as any PyTorch tutorial writes it, padding included; the state goes on from call to call."""

    def __init__(self, module: Any, rules: Rules) -> None:
        self.module = copy.deepcopy(module)
        self.optimizer = torch.optim.AdamW(
            self.module.parameters(), lr=rules.learning_rate, weight_decay=rules.weight_decay
        )

    def run(self, examples: Examples, batch: int, epochs: int, seed: int, round: int) -> None:
        rng = stream(seed, "shuffle", round)
        for _ in range(epochs):
            order = rng.permutation(len(examples.rows)).tolist()
            while order:
                now, order = order[:batch], order[batch:]
                texts = [row_of(examples.source, examples.rows[i])[0] for i in now]
                ids = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=0)
                target = torch.tensor([int(examples.labels[i]) for i in now])
                self.optimizer.zero_grad()
                logits = self.module(PaddedBatch(ids, (ids != 0).long())).logits
                torch.nn.CrossEntropyLoss()(logits, target).backward()
                self.optimizer.step()

    def weights(self) -> dict[str, Any]:
        return {name: parameter.detach() for name, parameter in self.module.named_parameters()}


@pytest.mark.parametrize("batch", [None, 21, 5])
def test_fit_equals_a_plain_training_loop(classifier: Classifier, examples: Examples, batch: int | None) -> None:
    plain = PlainLoop(classifier.module, RULES)
    plain.run(examples, batch or RULES.train_batch, RULES.max_epochs, seed=5, round=2)
    found = train(classifier, examples, batch=batch)
    moved = farthest(found.weights, classifier.pretrained)
    assert farthest(found.weights, plain.weights()) < 1e-3 * moved
    assert same_weights(found.weights, classifier.weights())


def test_moments_that_are_carried_make_one_long_training(classifier: Classifier, examples: Examples) -> None:
    plain = PlainLoop(classifier.module, RULES)
    first = train(classifier, examples, round=1, keeps_moments=True)
    kept = {name: value.clone() for name, value in (first.moments or {}).items()}
    carried = train(classifier, examples, round=2, weights=first.weights, moments=first.moments, keeps_moments=True)
    fresh = train(classifier, examples, round=2, weights=first.weights)
    for round in (1, 2):
        plain.run(examples, RULES.train_batch, RULES.max_epochs, seed=5, round=round)
    moved = farthest(carried.weights, first.weights)
    assert farthest(carried.weights, plain.weights()) < 1e-2 * moved
    assert farthest(fresh.weights, plain.weights()) > 0.1 * moved
    assert same_weights(first.moments or {}, kept)  # what was handed over is not written to
    assert carried.moments is not None
    assert carried.moments["step/classifier.bias"] == 2 * RULES.max_epochs * 3
    assert fresh.moments is None


def test_a_parameter_that_does_not_affect_the_logits_has_no_moments(classifier: Classifier, examples: Examples) -> None:
    classifier.module.register_parameter("spare", torch.nn.Parameter(torch.ones(2)))
    start = classifier.weights()
    first = train(classifier, examples, weights=start, keeps_moments=True)
    again = train(classifier, examples, weights=first.weights, moments=first.moments, keeps_moments=True)
    assert torch.equal(again.weights["spare"], torch.ones(2))
    assert again.moments is not None
    assert again.moments["step/classifier.bias"] == 2 * RULES.max_epochs * 3


def test_start_weights_are_not_modified(classifier: Classifier, examples: Examples) -> None:
    start = {name: tensor + 0.01 for name, tensor in classifier.weights().items()}
    kept = {name: tensor.clone() for name, tensor in start.items()}
    pretrained = {name: tensor.clone() for name, tensor in classifier.pretrained.items()}
    found = train(classifier, examples, weights=start)
    assert farthest(found.weights, start) > 1e-4
    assert same_weights(start, kept)
    assert same_weights(classifier.pretrained, pretrained)
    frozen = {name: tensor.clone() for name, tensor in found.weights.items()}
    train(classifier, examples)
    assert same_weights(found.weights, frozen)  # nor does a later training write to what this one gave


# --- dropout and chance --------------------------------------------------------------------------------------------


def test_dropout_changes_the_weights_and_repeats(classifier: Classifier, examples: Examples) -> None:
    off = train(classifier, examples)
    torch.manual_seed(1)
    on = train(classifier, examples, dropout=True)
    torch.rand(17)
    again = train(classifier, examples, dropout=True)
    assert farthest(on.weights, off.weights) > 1e-4
    assert same_weights(on.weights, again.weights)


def test_dropout_is_keyed_by_seed_and_round(classifier: Classifier, tiny: Backbone, task: Task) -> None:
    single = examples_of(tiny, task.train, [4])  # of a single example there is only one order

    def trained(dropout: bool, seed: int, round: int) -> Any:
        return train(classifier, single, seed=seed, round=round, dropout=dropout).weights

    assert same_weights(trained(False, 5, 2), trained(False, 6, 3))
    assert same_weights(trained(True, 5, 2), trained(True, 5, 2))
    assert not same_weights(trained(True, 5, 2), trained(True, 6, 2))
    assert not same_weights(trained(True, 5, 2), trained(True, 5, 3))


def test_each_epoch_draws_its_own_masks_however_many_there_were_before(
    classifier: Classifier, tiny: Backbone, task: Task
) -> None:
    """An epoch's masks do not depend on the length of the epochs before it."""
    one, two = examples_of(tiny, task.train, [4]), examples_of(tiny, task.train, [4, 4])
    generators: dict[str, list[Any]] = {"one": [], "two": []}

    class Peeking(Classifier):
        def logits_of(self, source: Any, rows: Any) -> Any:
            peeked.append(torch.get_rng_state())
            return super().logits_of(source, rows)

    classifier.__class__ = Peeking
    for name, these in (("one", one), ("two", two)):
        peeked: list[Any] = []
        train(classifier, these, rules_of(train_batch=1, max_epochs=2, stop_after=None), dropout=True)
        generators[name] = peeked[:: len(these.rows)]
    assert all(torch.equal(a, b) for a, b in zip(generators["one"], generators["two"], strict=True))
    assert not torch.equal(generators["one"][0], generators["one"][1])


def test_the_order_is_keyed_by_seed_and_round(classifier: Classifier, examples: Examples) -> None:
    base = train(classifier, examples).weights
    assert same_weights(base, train(classifier, examples).weights)
    assert not same_weights(base, train(classifier, examples, seed=6).weights)
    assert not same_weights(base, train(classifier, examples, round=3).weights)


# --- early stopping ------------------------------------------------------------------------------------------------


class Script:
    """A validation with scripted losses; it records its calls."""

    labels: Ints = np.zeros(1, dtype=np.int64)

    def __init__(self, classifier: Classifier, losses: Sequence[float]) -> None:
        self.classifier, self.losses = classifier, list(losses)
        self.outputs: list[Outputs] = []
        self.weights: list[Any] = []

    def __call__(self) -> Outputs:
        loss = self.losses[len(self.outputs)]
        # -log softmax([a, 0])[0] is the loss
        outputs = Outputs(np.array([[-math.log(math.expm1(loss)), 0.0]]))
        self.outputs.append(outputs)
        self.weights.append(self.classifier.weights())
        return outputs


Scripted = Callable[..., tuple[Fit, Script]]


@pytest.fixture
def scripted(classifier: Classifier, tiny: Backbone, task: Task) -> Scripted:
    """Train with scripted losses on a few examples."""
    few = examples_of(tiny, task.train, [0, 1])

    def scripted(losses: Sequence[float], **changes: Any) -> tuple[Fit, Script]:
        script = Script(classifier, losses)
        plan = Plan(classifier.pretrained, few.rows, dropout=False)
        rules = rules_of(**changes)
        return fit(classifier, plan, few, script, script.labels, rules, 5, 1), script

    return scripted


@pytest.mark.parametrize(
    ("losses", "changes", "kept", "run"),
    [
        ([0.9, 0.8, 0.7, 0.75, 0.72, 0.1], {}, 3, 5),
        ([0.5, 0.6, 0.7, 0.1], {}, 1, 3),  # nothing improves: no round is shorter than three epochs
        ([0.5, 0.5, 0.5, 0.5], {}, 1, 3),
        ([0.5, 0.6, 0.4, 0.6, 0.3, 0.6, 0.6], {}, 5, 7),  # one bad epoch is forgiven
        ([0.9, 0.8, 0.7, 0.6], {"max_epochs": 4}, 4, 4),
        ([0.9, 0.8, 0.7, 0.71], {"max_epochs": 4}, 3, 4),
        ([0.5, 0.6, 0.1], {"stop_after": 1}, 1, 2),
        ([0.5, 0.6, 0.6, 0.6, 0.4, 0.6, 0.6, 0.6, 0.6], {"stop_after": 4}, 5, 9),
        ([1.0, 0.95, 0.91, 0.5], {"min_delta": 0.1}, 1, 3),  # lower, but not by enough, counts as worse
        ([1.0, 0.95, 0.89, 0.85, 0.8], {"min_delta": 0.1}, 3, 5),  # measured from the best, not from the last
        ([0.5], {"max_epochs": 1}, 1, 1),
    ],
)
def test_best_epoch_is_kept(
    scripted: Scripted, losses: list[float], changes: dict[str, Any], kept: int, run: int
) -> None:
    found, script = scripted(losses, **changes)
    assert (found.kept_epoch, found.cost.epochs) == (kept, run)
    assert len(script.outputs) == run  # one pass an epoch, and none for the epoch that is kept


def test_early_stopping_equals_the_textbook_rule(scripted: Scripted) -> None:
    def textbook(losses: Sequence[float], patience: int, min_delta: float) -> tuple[int, int]:
        best, kept, waited = math.inf, 0, 0
        for epoch, loss in enumerate(losses, start=1):
            if loss < best - min_delta:
                best, kept, waited = loss, epoch, 0
            else:
                waited += 1
            if waited == patience:
                return kept, epoch
        return kept, len(losses)

    rng = np.random.default_rng(0)
    for _ in range(40):
        epochs, patience = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        min_delta = float(rng.choice([0.0, 1e-4, 0.05]))
        losses = (0.1 + rng.random(epochs)).tolist()
        found, _ = scripted(losses, max_epochs=epochs, stop_after=patience, min_delta=min_delta)
        assert (found.kept_epoch, found.cost.epochs) == textbook(losses, patience, min_delta)


def test_the_weights_of_the_kept_epoch_are_returned(scripted: Scripted, classifier: Classifier) -> None:
    found, script = scripted([0.9, 0.8, 0.85, 0.86])
    assert same_weights(found.weights, script.weights[1])
    assert same_weights(classifier.weights(), script.weights[1])
    assert found.validation is script.outputs[1]
    assert not same_weights(script.weights[1], script.weights[3])


def test_without_stopping_the_last_epoch_is_kept_and_validated_once(scripted: Scripted) -> None:
    found, script = scripted([0.7], stop_after=None, max_epochs=6)
    assert (found.kept_epoch, found.cost.epochs) == (6, 6)
    assert same_weights(found.weights, script.weights[0])
    assert found.validation is script.outputs[0]


def test_without_validation_all_epochs_run(classifier: Classifier, examples: Examples) -> None:
    found = train(classifier, examples, rules_of(stop_after=1, max_epochs=4))
    assert (found.kept_epoch, found.cost.epochs, found.validation) == (4, 4, None)


def test_best_loss_is_reset_each_round(scripted: Scripted) -> None:
    scripted([0.1, 0.2, 0.2])
    found, _ = scripted([0.9, 0.8, 0.85, 0.86])
    assert found.kept_epoch == 2


def test_validation_sees_the_model_without_dropout(classifier: Classifier, examples: Examples) -> None:
    modes: list[bool] = []

    def validate() -> Outputs:
        modes.append(classifier.module.training)
        return Outputs(np.zeros((1, 2)))

    plan = Plan(classifier.pretrained, examples.rows, dropout=True)
    fit(classifier, plan, examples, validate, Script.labels, rules_of(), 5, 1)
    assert modes == [False] * 3


def test_the_loss_by_examples_or_by_batches() -> None:
    logits, labels = np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]), np.array([0, 0, 1])
    each = [math.log1p(math.exp(-3)), math.log1p(math.exp(1)), math.log1p(math.exp(-2))]
    assert validation_loss(logits, labels, rules_of()) == pytest.approx(sum(each) / 3)
    batches = validation_loss(logits, labels, rules_of(validation_loss="batches", train_batch=2))
    assert batches == pytest.approx(((each[0] + each[1]) / 2 + each[2]) / 2)


# --- what it cost --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [None, 4, 21])
def test_cost_is_counted(classifier: Classifier, examples: Examples, batch: int | None) -> None:
    found = train(classifier, examples, batch=batch)
    size = batch or RULES.train_batch
    rng, tokens, steps = stream(5, "shuffle", 2), 0, 0
    for _ in range(RULES.max_epochs):
        order = rng.permutation(len(examples.rows))
        for start in range(0, len(order), size):
            lengths = [row_of(examples.source, examples.rows[i]).shape[1] for i in order[start : start + size]]
            tokens += sum(lengths)
            steps += 1
    assert found.cost.steps == steps
    assert found.cost.tokens == tokens
    assert found.cost.examples == RULES.max_epochs * 21
    assert found.cost.epochs == RULES.max_epochs


def test_discarded_epochs_are_counted_as_cost(scripted: Scripted) -> None:
    found, _ = scripted([0.5, 0.6, 0.7])
    assert (found.kept_epoch, found.cost.steps, found.cost.examples) == (1, 3, 6)


def test_empty_training_set_trains_nothing(classifier: Classifier, examples: Examples) -> None:
    start = {name: tensor + 0.01 for name, tensor in classifier.weights().items()}
    passes: list[Outputs] = []
    reports: list[tuple[int, int]] = []

    def validate() -> Outputs:
        passes.append(Outputs(np.zeros((1, 2))))
        return passes[-1]

    nothing = Examples(examples.source, examples.rows[:0], examples.labels[:0])
    plan = Plan(start, nothing.rows)
    found = fit(
        classifier, plan, nothing, validate, Script.labels, rules_of(), 5, 1, lambda e, of: reports.append((e, of))
    )
    assert same_weights(found.weights, start)
    assert (found.kept_epoch, found.cost.steps, found.cost.examples, found.cost.tokens, found.cost.epochs) == (0,) * 5
    assert found.validation is passes[0]
    assert len(passes) == 1
    assert reports == []


def test_each_epoch_is_announced(tiny: Backbone, task: Task) -> None:
    classifier, few = classifier_of(tiny, task), examples_of(tiny, task.train, [0, 1])
    reports: list[tuple[int, int]] = []
    script = Script(classifier, [0.5, 0.6, 0.7])
    plan = Plan(classifier.pretrained, few.rows)
    rules = rules_of(max_epochs=7)
    found = fit(classifier, plan, few, script, script.labels, rules, 5, 1, lambda e, of: reports.append((e, of)))
    assert reports == [(1, 7), (2, 7), (3, 7)]
    assert found.seconds.keys() == {"train", "validate"}


# --- enough steps, and no more -------------------------------------------------------------------------------------


def test_start_weights_may_be_the_best(scripted: Scripted, classifier: Classifier) -> None:
    found, script = scripted([0.3, 0.5, 0.4, 0.1], keep_start=True)
    assert (found.kept_epoch, found.cost.epochs, found.cost.steps) == (0, 2, 2)
    assert same_weights(found.weights, classifier.pretrained)
    assert same_weights(classifier.weights(), classifier.pretrained)
    assert found.validation is script.outputs[0]
    assert found.cost.planned == 10


def test_validation_may_fall_inside_an_epoch(classifier: Classifier, examples: Examples) -> None:
    script = Script(classifier, [0.9, 0.5, 0.6, 0.7])
    plan = Plan(classifier.pretrained, examples.rows, dropout=False)
    rules = rules_of(validations_per_epoch=3, train_batch=4)  # 21 examples: six steps an epoch, two between looks
    found = fit(classifier, plan, examples, script, script.labels, rules, 5, 1)
    assert found.kept_epoch == pytest.approx(2 / 3)
    assert (found.cost.steps, found.cost.epochs, found.cost.planned) == (8, 2, 60)
    assert found.cost.examples == 21 + 8
    assert same_weights(found.weights, script.weights[1])


def test_validations_are_at_most_one_per_step(classifier: Classifier, examples: Examples) -> None:
    script = Script(classifier, [0.9] * 9)
    plan = Plan(classifier.pretrained, examples.rows, dropout=False)
    found = fit(
        classifier, plan, examples, script, script.labels, rules_of(validations_per_epoch=50, stop_after=2), 5, 1
    )
    assert len(script.outputs) == 3
    assert found.kept_epoch == pytest.approx(1 / 3)


def test_the_mean_of_the_second_half_is_kept(classifier: Classifier, examples: Examples) -> None:
    seen: list[dict[str, Any]] = []
    rules = rules_of(stop_after=None, max_epochs=5, average=True)
    plan = Plan(classifier.pretrained, examples.rows, dropout=False)

    def epoch_done(_epoch: int, _of: int) -> None:
        seen.append(classifier.weights())

    found = fit(classifier, plan, examples, None, NO_LABELS, rules, 5, 2, epoch_done)
    last = seen[2:]  # three fifths and more of the steps
    expected = {name: torch.stack([weights[name] for weights in last]).mean(dim=0) for name in last[0]}
    assert farthest(found.weights, expected) < 1e-6
    assert farthest(found.weights, seen[-1]) > 1e-5
    assert same_weights(found.weights, classifier.weights())


def test_weights_are_not_averaged_if_validation_stops_training(scripted: Scripted) -> None:
    found, script = scripted([0.9, 0.8, 0.85, 0.86], average=True)
    assert same_weights(found.weights, script.weights[1])


@pytest.mark.parametrize(
    ("epochs", "min_finetune_steps", "steps"), [(None, 0, 21), (None, 30, 21), (2, 0, 6), (2, 10, 12)]
)
def test_a_training_has_a_floor_of_steps_and_another_where_its_update_brings_epochs(
    classifier: Classifier, examples: Examples, epochs: int | None, min_finetune_steps: int, steps: int
) -> None:
    rules = rules_of(
        stop_after=None, max_epochs=4, min_steps=19, min_finetune_steps=min_finetune_steps
    )  # three steps an epoch
    plan = Plan(classifier.pretrained, examples.rows, dropout=False, epochs=epochs)
    found = fit(classifier, plan, examples, None, NO_LABELS, rules, 5, 2)
    assert (found.cost.steps, found.cost.planned) == (steps, steps)


@pytest.mark.parametrize(
    ("name", "batch", "epochs"),
    [
        ("best", 16, 48),  # of two steps, which makes 96
        ("best", 1, 5),  # of 21, until there are 96
        ("paper", 16, 3),
        ("paper", 1, 3),
    ],
)
def test_few_labels_train_for_many_epochs_under_best_and_three_under_paper(
    classifier: Classifier, examples: Examples, name: str, batch: int, epochs: int
) -> None:
    rules = protocol(name, {"train_batch": batch})
    found = train(classifier, examples, rules, epochs=3)
    assert (found.cost.epochs, found.cost.examples) == (epochs, epochs * 21)
    assert found.cost.steps == epochs * math.ceil(21 / batch)


def test_many_labels_train_for_three_epochs_under_best(tiny: Backbone, task: Task, classifier: Classifier) -> None:
    many = examples_of(tiny, task.train, np.arange(40))
    found = train(classifier, many, protocol("best", {"train_batch": 1}), epochs=3)
    assert (found.cost.epochs, found.cost.steps) == (3, 120)


def test_each_step_has_its_own_rate(classifier: Classifier, examples: Examples) -> None:
    rules = rules_of(stop_after=None, max_epochs=2, warmup=0.5, decay=True, weight_decay=0.1)
    plain = PlainLoop(classifier.module, rules)
    stepped, rate = plain.optimizer.step, iter(rates(6, rules).tolist())

    def step() -> None:
        plain.optimizer.param_groups[0]["lr"] = next(rate)
        stepped()

    plain.optimizer.step = step
    plain.run(examples, rules.train_batch, 2, seed=5, round=2)
    found = train(classifier, examples, rules)
    assert farthest(found.weights, plain.weights()) < 1e-3 * farthest(found.weights, classifier.pretrained)
