from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hybridal.acquisition import Candidates
from hybridal.backbones import Backbone
from hybridal.backbones.text_encoder import TextEncoder
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.measures.calibration import nll
from hybridal.measures.objective import SingleLabel
from hybridal.models import token_arrays as tokens
from hybridal.models.model_protocol import Model
from hybridal.models.training import forward_passes
from hybridal.models.training.class_descriptions import readable_names
from hybridal.models.training.probe import fit_probe
from hybridal.models.transformer import TransformerModel
from hybridal.runs.assemble import build_experiment, build_model, watched
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.tasks import Task
from hybridal.updates import UPDATES, Plan

from .models import POOL, ROWS, RULES, model_of, unlabelled
from .parts import CPU, same_weights


def test_texts_are_tokenised_once(task: Task, tiny: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    first = model_of(task, tiny)

    def encode(self: TextEncoder, texts: Any) -> Any:
        raise AssertionError("these texts were tokenised before")

    monkeypatch.setattr(TextEncoder, "encode", encode)
    again = model_of(task, tiny)
    assert np.array_equal(first.train_source.batch(ROWS)[0], again.train_source.batch(ROWS)[0])


def test_each_split_has_its_own_tokens(task: Task, model: TransformerModel) -> None:
    tokens = {"train": model.train_source, "validation": model.validation.source, "test": model.test_examples.source}
    for name, split in task.splits():
        for row in (0, len(split) - 1):
            ids, _ = tokens[name].batch(np.array([row]))
            assert ids[0].tolist() == model.encoder.encode([split.texts[row]])[0]


def test_transformer_model_implements_the_model_protocol(model: TransformerModel) -> None:
    role: Model = model
    fit = role.fit(Plan(role.pretrained, POOL.order), POOL, 1)
    candidates: Candidates = role.candidates(ROWS, POOL, 1, 1.0)
    assert len(candidates.ids) == len(ROWS)
    assert same_weights(fit.weights, model.classifier.weights())


def test_one_pass_over_validation_an_epoch(model: TransformerModel, passes: list[int]) -> None:
    fit = model.fit(Plan(model.pretrained, POOL.order), POOL, 1)
    assert passes == [40] * fit.cost.epochs
    model.load(fit.weights)
    kept = forward_passes.predict(model.classifier, model.validation.source, model.validation.rows)
    assert fit.validation is not None
    assert np.array_equal(fit.validation.logits, kept.logits)  # it is that of the kept weights
    assert fit.validation.hidden is None


def test_features_are_kept_when_a_signal_needs_them(task: Task, tiny: Backbone) -> None:
    model = model_of(task, tiny, keeps_features=True)
    fit = model.fit(Plan(model.pretrained, POOL.order), POOL, 1)
    assert fit.validation is not None
    assert fit.validation.hidden is not None
    assert fit.validation.hidden.shape == (40, 64)


class Listener(Observer):
    """Records the calls of the observer."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.texts: list[tuple[str, int, int]] = []

    def epoch_done(self, epoch: int, of: int) -> None:
        self.epochs.append(epoch)

    def texts_done(self, what: str, done: int, of: int) -> None:
        self.texts.append((what, done, of))


def test_slow_steps_report_progress(
    task: Task, tiny: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "CHUNK", 50)
    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path))
    listener = Listener()
    model = model_of(task, tiny, observer=listener)
    count = sum(len(split) for _, split in task.splits())
    assert listener.texts == [("tokenising", min(done, count), count) for done in range(50, count + 50, 50)]
    fit = model.fit(Plan(model.pretrained, POOL.order), POOL, 1)
    assert listener.epochs == list(range(1, fit.cost.epochs + 1))
    listener.texts.clear()
    monkeypatch.setitem(forward_passes.TOKENS, "cpu", 200)
    model.candidates(np.arange(70), POOL, 1, 1.0).probabilities()
    counts = [done for _, done, _ in listener.texts]
    assert counts == sorted(set(counts))
    assert len(counts) > 3
    assert listener.texts[-1] == ("scoring", 70, 70)


def test_labels_are_taken_from_the_pool_not_the_task(task: Task, tiny: Backbone) -> None:
    one, other = (model_of(each, tiny) for each in (task, unlabelled(task, "train")))
    weights = [each.fit(Plan(each.pretrained, POOL.order), POOL, 1).weights for each in (one, other)]
    assert same_weights(*weights)


def test_unlabelled_validation_texts_are_left_out(task: Task, tiny: Backbone, passes: list[int]) -> None:
    model = model_of(unlabelled(task, "validation", slice(0, 10)), tiny)
    fit = model.fit(Plan(model.pretrained, POOL.order), POOL, 1)
    assert set(passes) == {30}
    assert np.array_equal(model.validation_labels, task.validation.labels[10:])
    whole = forward_passes.predict(model.classifier, model.validation.source, np.arange(40)).logits
    assert fit.validation is not None
    np.testing.assert_allclose(fit.validation.logits, whole[10:], atol=1e-5)


def test_validation_labels_may_come_later(task: Task, tiny: Backbone, passes: list[int]) -> None:
    model = model_of(unlabelled(task, "validation"), tiny)
    assert model.fit(Plan(model.pretrained, POOL.order), POOL, 1).validation is None
    labels = np.full(40, UNKNOWN)
    labels[[2, 9]] = 1, 0
    model.relabel_validation(labels)
    fit = model.fit(Plan(model.pretrained, POOL.order), POOL, 1)
    assert model.validation_labels.tolist() == [1, 0]
    assert fit.validation is not None
    assert fit.validation.logits.shape == (2, 2)
    assert set(passes) == {2}


def test_test_split_is_measured(task: Task, tiny: Backbone, model: TransformerModel) -> None:
    tested = model.test()
    assert tested is not None
    assert np.array_equal(tested[1], task.test.labels)
    whole = forward_passes.predict(model.classifier, model.test_examples.source, np.arange(20)).logits
    assert np.array_equal(tested[0].logits, whole)
    assert model_of(unlabelled(task, "test"), tiny).test() is None
    part = model_of(unlabelled(task, "test", slice(5, None)), tiny).test()
    assert part is not None
    np.testing.assert_allclose(part[0].logits, whole[:5], atol=1e-5)


def test_weights_from_a_file_are_placed(model: TransformerModel) -> None:
    assert model.to_device(None) is None
    placed = model.to_device({"a": torch.ones(2)})
    assert placed is not None
    assert placed["a"].device == CPU.torch


def test_labels_are_cross_fitted_by_probes_that_have_not_seen_them(task: Task, tiny: Backbone) -> None:
    model = TransformerModel(task, tiny, replace(RULES, head="probe", pooling="mean"), 1, CPU)
    rows = range(40)
    pool = Pool.unlabelled(len(task.train)).reveal({row: int(task.train.labels[row]) for row in rows})
    found = model.cross_fitted(pool)
    assert found is not None
    logits, labels = found
    assert (labels == task.train.labels[:40]).all()
    again = model.cross_fitted(pool)
    assert again is not None
    assert (again[0] == logits).all()
    fitted = model.probe(pool).logits(model.features.of(pool.order))
    assert nll(logits, labels) > nll(fitted, labels)  # the probe of all has seen them
    few = Pool.unlabelled(len(task.train)).reveal({row: int(task.train.labels[row]) for row in range(9)})
    assert model.cross_fitted(few) is None
    assert model_of(task, tiny).cross_fitted(pool) is None  # its head starts at random: there is no probe


NAMED = replace(RULES, head="probe", pooling="mean", use_class_descriptions=True)


def test_class_names_are_additional_examples(task: Task, tiny: Backbone) -> None:
    model, plain = (
        TransformerModel(task, tiny, replace(NAMED, use_class_descriptions=on), 1, CPU) for on in (True, False)
    )
    names = model.embed(readable_names(task.classes))
    np.testing.assert_allclose(model.features.of(model.named), names, atol=1e-5)
    # In the probe of the pretrained encoder ...
    labels, features = POOL.labels[POOL.order], model.features.of(POOL.order)
    expected = fit_probe(features, labels, SingleLabel(2), model.probe(POOL).penalty, (names, np.arange(2)))
    np.testing.assert_allclose(model.probe(POOL).weight, expected.weight, atol=1e-4)
    # ... in training ...
    costs = [each.fit(Plan(each.start(POOL), POOL.order), POOL, 1).cost for each in (model, plain)]
    assert [cost.examples // cost.epochs for cost in costs] == [5, 3]
    # ... and where a head is fitted to an encoder that was trained.
    trained = model.classifier.weights()
    read = model.text_features([*(task.train.texts[row] for row in POOL.order), *readable_names(task.classes)])
    head = fit_probe(read, np.array([*labels, 0, 1]), SingleLabel(2), model.probe(POOL).penalty)
    model.load(model.start(POOL, trained))
    np.testing.assert_allclose(model.classifier.head().weight, head.weight, atol=1e-3)


def test_class_descriptions_are_additional_examples(task: Task, tiny: Backbone) -> None:
    first, second = task.classes
    described = task.with_descriptions({second: ["goals and teams", "a match"], first: "meals"})
    model = TransformerModel(described, tiny, NAMED, 1, CPU)
    texts = [*readable_names(task.classes), "meals", "goals and teams", "a match"]
    assert model.description_features is not None
    features, of = model.description_features
    np.testing.assert_allclose(features, model.embed(texts), atol=1e-5)
    assert of.tolist() == [0, 1, 0, 1, 1]
    cost = model.fit(Plan(model.start(POOL), POOL.order), POOL, 1).cost
    assert cost.examples // cost.epochs == len(POOL.order) + 5
    # Where a class lies for the first draw: the mean of its descriptions.
    found = model.class_features()
    assert found is not None
    np.testing.assert_allclose(found[1], model.embed([texts[at] for at in (1, 3, 4)]).mean(axis=0), atol=1e-5)


def test_class_descriptions_equal_to_validation_texts_are_no_examples(task: Task, tiny: Backbone) -> None:
    first, second = task.classes
    pasted = [f" {task.validation.texts[0]} ", task.test.texts[0], task.train.texts[0], "a match"]
    described = task.with_descriptions({second: pasted})
    fixed = TransformerModel(described, tiny, NAMED, 1, CPU)
    assert fixed.description_texts[2:] == [task.train.texts[0], "a match"]
    for rules in (replace(NAMED, validation="share"), replace(NAMED, validation="none")):
        assert TransformerModel(described.merged(), tiny, rules, 1, CPU).description_texts[2:] == ["a match"]
    assert fixed.class_descriptions([first], {first: pasted})[0] == [
        *readable_names([first]),
        task.train.texts[0],
        "a match",
    ]


def test_models_of_the_same_encoder_share_features(task: Task, tiny: Backbone, passes: list[int]) -> None:
    first, second = task.classes
    other = TransformerModel(task.with_descriptions({second: "a match"}), tiny, NAMED, 1, CPU)
    kept = other.features.of(np.array([3, 5, *other.named]))
    fewer = replace(task, train=task.train.take(np.arange(3, len(task.train)))).with_descriptions(
        {first: "x", second: "a match"}
    )
    model = TransformerModel(fewer, tiny, NAMED, 1, CPU)
    model.reuse_features(other, {0: 3, 2: 5, 4: 7})
    passes.clear()
    names_and_match = model.named[[0, 1, 3]]
    assert (model.features.of(np.array([0, 2, *names_and_match])) == kept).all()
    assert passes == []
    model.features.of(np.array([4, model.named[2]]))
    assert sum(passes) == 2


def test_numeric_classes_with_descriptions_have_examples(task: Task, tiny: Backbone) -> None:
    numbered = replace(task, classes=("0", "1")).with_descriptions({"1": "a match"})
    model = TransformerModel(numbered, tiny, NAMED, 1, CPU)
    assert model.description_features is not None
    assert model.description_features[1].tolist() == [1]
    assert model.class_features() is None  # the other one has no description
    plain = TransformerModel(numbered, tiny, replace(NAMED, use_class_descriptions=False), 1, CPU)
    assert plain.description_features is None


def test_empty_plan_trains_nothing_with_or_without_names(task: Task, tiny: Backbone) -> None:
    model = TransformerModel(task, tiny, NAMED, 1, CPU)
    assert model.fit(Plan(model.start(POOL), POOL.order[:0]), POOL, 1).cost.steps == 0


def test_names_that_are_numbers_are_no_examples(task: Task, tiny: Backbone) -> None:
    model = TransformerModel(replace(task, classes=("0", "1")), tiny, NAMED, 1, CPU)
    assert model.description_features is None
    assert model.fit(Plan(model.start(POOL), POOL.order), POOL, 1).cost.examples % len(POOL.order) == 0


def test_a_new_head_reads_no_text_again(task: Task, tiny: Backbone, passes: list[int]) -> None:
    model = TransformerModel(task, tiny, replace(RULES, head="probe", pooling="mean"), 1, CPU)
    pools = [
        Pool.unlabelled(len(task.train)).reveal({row: int(task.train.labels[row]) for row in range(count)})
        for count in (20, 22)
    ]
    trained = model.fit(Plan(model.start(pools[0]), pools[0].order), pools[0], 1)
    before = model.view(trained.validation, pools[0]).unlabelled().logits
    head = model.start(pools[0], trained.weights)
    passes.clear()
    refitted = model.fit(Plan(head, pools[0].order[:0]), pools[0], 2)
    now = model.view(refitted.validation, pools[0]).unlabelled()
    model.start(pools[1], refitted.weights)
    # Validation, and two new texts: by the encoder as it is, and by the frozen one, which says how noisy they are.
    assert passes == [40, 2, 2]
    assert not np.array_equal(now.logits, before)
    expected = forward_passes.predict(model.classifier, model.train_source, now.rows).logits
    np.testing.assert_allclose(now.logits, expected, atol=1e-4)
    again = model.fit(Plan(refitted.weights, pools[1].order), pools[1], 3)
    passes.clear()
    model.view(again.validation, pools[1]).unlabelled()
    assert passes == [len(model.sample)], "an encoder that was trained says something else"


# --- fewer validation texts ----------------------------------------------------------------------------------------


def test_a_part_of_validation_drawn_by_the_seed(task: Task, tiny: Backbone) -> None:
    rules = replace(RULES, validation_size=10)
    one, same, other = (TransformerModel(task, tiny, rules, seed, CPU) for seed in (1, 1, 2))
    assert len(one.validation.rows) == 10
    assert np.bincount(one.validation_labels).tolist() == [5, 5]
    assert np.array_equal(one.validation_labels, task.validation.labels[one.validation.rows])
    assert np.array_equal(one.validation.rows, same.validation.rows)
    assert not np.array_equal(one.validation.rows, other.validation.rows)
    before = one.validation.rows
    one.relabel_validation(task.validation.labels)  # the same labels again leave the same part
    assert np.array_equal(one.validation.rows, before)


@pytest.mark.parametrize("layers", [None, 1])
def test_the_fast_path_asks_for_the_same_texts_as_the_plain_one(task: Task, tiny: Backbone, layers: int | None) -> None:
    """Without dropout, whose masks have another shape where nothing is padded."""
    acquired = []
    for path in ("fast", "plain"):
        overrides = {
            "dropout": "off",
            "arithmetic": path,
            "train_layers": layers,
            "rounds": 4,
            "initial": 8,
            "batch": 8,
            "learning_rate": 1e-3,
        }
        asked = Settings(task.name, backbone=str(tiny.folder), protocol="paper", overrides=overrides, device="cpu")
        signals = watched(asked, make_schedule("finetune"))
        experiment = build_experiment(asked, task, build_model(asked, task, signals), signals)
        state, ids = experiment.start(), []
        for update in ("retrain", "retrain", "finetune", "finetune"):
            state, record = experiment.advance(state, UPDATES.make(update))
            ids.append(record.acquired)
        acquired.append(ids)
    assert acquired[0] == acquired[1]


def test_probe_predicts_as_its_weights_and_encodes_each_text_once(
    task: Task, tiny: Backbone, passes: list[int]
) -> None:
    rules = replace(RULES, head="probe", probe_until=10)
    model = TransformerModel(task, tiny, rules, 1, CPU)
    weights = model.start(POOL)
    model.load(weights)
    plain = forward_passes.predict(model.classifier, model.train_source, ROWS, features=True)
    passes.clear()
    asked = model.predict(ROWS, POOL, features=True)
    np.testing.assert_allclose(asked.logits, plain.logits, atol=1e-4)
    assert asked.embedding is not None
    assert plain.embedding is not None
    np.testing.assert_allclose(asked.embedding, plain.embedding, atol=1e-4)
    assert passes == [len(ROWS)]
    assert np.array_equal(model.predict(ROWS[::-1], POOL).logits[::-1], asked.logits)
    assert passes == [len(ROWS)]


def test_trained_weights_are_queried_directly(task: Task, tiny: Backbone) -> None:
    model = TransformerModel(task, tiny, replace(RULES, head="probe", probe_until=10), 1, CPU)
    model.load(model.pretrained)
    asked = model.predict(ROWS, POOL)
    assert np.array_equal(asked.logits, forward_passes.predict(model.classifier, model.train_source, ROWS).logits)
