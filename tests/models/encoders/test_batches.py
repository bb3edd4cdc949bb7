from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders import dropout, packed_attention
from hybridal.models.encoders.batches import PackedBatch
from hybridal.models.token_arrays import Tokens
from hybridal.tasks import Task

from ..parts import ARCHITECTURES, LENGTH, classifier_of, examples_of, padded_logits, random_backbone


@given(st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=9), min_size=1, max_size=6), st.randoms())
def test_a_packed_row_holds_each_text_once_from_position_0(texts: list[list[int]], random: Any) -> None:
    rows = np.array(random.sample(range(len(texts)), len(texts)))
    packed = PackedBatch.of(Tokens.of(texts, pad=0), rows)
    assert [packed.inputs[0, a:b].tolist() for a, b in packed.spans] == [texts[row] for row in rows]
    assert [packed.positions[0, a:b].tolist() for a, b in packed.spans] == [[*range(len(texts[row]))] for row in rows]


@pytest.fixture(scope="module", params=[*ARCHITECTURES])
def backbone(request: pytest.FixtureRequest, tiny: Backbone, tmp_path_factory: pytest.TempPathFactory) -> Backbone:
    return random_backbone(request.param, tiny.folder, tmp_path_factory.mktemp(request.param))


def assert_close(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """By the largest: the bias of a key has no gradient at all, but for rounding."""
    assert expected.keys() == found.keys()
    largest = max(float(gradient.abs().max()) for gradient in expected.values())
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name] / largest, gradient / largest, rtol=0, atol=1e-5)


def gradients(classifier: Classifier, logits: torch.Tensor) -> dict[str, torch.Tensor]:
    classifier.module.zero_grad()
    (logits * torch.arange(1.0, 1 + logits.numel()).view_as(logits)).sum().backward()
    return {name: p.grad.clone() for name, p in classifier.trainable().items() if p.grad is not None}


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_packed_texts_give_the_logits_and_gradients_of_padded_ones(
    backbone: Backbone, task: Task, pooling: str
) -> None:
    classifier, texts = classifier_of(backbone, task, pooling=pooling), examples_of(backbone, task.train)
    rows = texts.rows[:16]
    assert classifier.packs
    assert len({*texts.source.lengths(rows).tolist()}) > 3
    padded = padded_logits(classifier, texts.source, rows)
    packed = classifier.logits_of(texts.source, rows)
    torch.testing.assert_close(packed, padded, rtol=1e-4, atol=1e-5)
    expected = gradients(classifier, padded)
    assert_close(gradients(classifier, packed), expected)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_with_dropout_on_that_drops_nothing_they_still_do(
    backbone: Backbone, task: Task, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (packed_attention, dropout):
        monkeypatch.setattr(module, "draw_mask", lambda shape, _rate: torch.ones(shape))
    classifier, texts = classifier_of(backbone, task, pooling=pooling), examples_of(backbone, task.train)
    padded = padded_logits(classifier, texts.source, texts.rows[:16])
    expected = gradients(classifier, padded)
    with classifier.training(dropout=True):
        packed = classifier.logits_of(texts.source, texts.rows[:16])
        found = gradients(classifier, packed)
    torch.testing.assert_close(packed, padded, rtol=1e-4, atol=1e-5)
    assert_close(found, expected)


def test_attention_drops_shares_in_every_layer_and_in_the_last_of_first_tokens_alone(
    backbone: Backbone, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[float, ...]] = []

    def draw(shape: tuple[int, ...], rate: float) -> torch.Tensor:
        drawn.append((*shape, rate))
        return torch.ones(shape)

    monkeypatch.setattr(packed_attention, "draw_mask", draw)
    classifier, texts = classifier_of(backbone, task), examples_of(backbone, task.train)
    rows, rate, heads = texts.rows[:16], 0.1, 2
    with classifier.training(dropout=True):
        classifier.logits_of(texts.source, rows)
    lengths = texts.source.lengths(rows)
    whole, firsts = heads * int((lengths**2).sum()), heads * int(lengths.sum())
    # DistilBERT's last layer computes all tokens.
    assert drawn == [(whole, rate), (whole if backbone.name == "distilbert" else firsts, rate)]


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_features_of_packed_texts_are_those_of_padded_ones(backbone: Backbone, task: Task, pooling: str) -> None:
    classifier, texts = classifier_of(backbone, task, pooling=pooling), examples_of(backbone, task.train)
    rows = texts.rows[:8]
    with torch.no_grad():
        padded = classifier.run(classifier.padded(texts.source, rows))
        packed = classifier.run_texts(texts.source, rows)
    torch.testing.assert_close(packed.hidden, padded.hidden, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(packed.embedding, padded.embedding, rtol=1e-4, atol=1e-5)


@settings(max_examples=10)
@given(st.permutations(range(6)))
def test_a_text_does_not_see_its_neighbours(order: list[int]) -> None:
    classifier, texts = STILL["classifier"], STILL["texts"]
    with torch.no_grad():
        alone = torch.cat([classifier.logits_of(texts.source, texts.rows[[row]]) for row in order])
        together = classifier.logits_of(texts.source, texts.rows[order])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


STILL: dict[str, Any] = {}


@pytest.fixture(autouse=True, scope="module")
def still(tiny: Backbone, task: Task) -> None:
    STILL.update(classifier=classifier_of(tiny, task), texts=examples_of(tiny, task.train))


def test_texts_of_one_token_and_of_as_many_as_fit_share_a_row(backbone: Backbone, task: Task) -> None:
    classifier, rng = classifier_of(backbone, task), np.random.default_rng(0)
    tokens = Tokens.of([rng.integers(5, 2000, length).tolist() for length in (1, LENGTH, 1, LENGTH - 1)], pad=0)
    rows = np.arange(4)
    with torch.no_grad():
        padded, packed = padded_logits(classifier, tokens, rows), classifier.logits_of(tokens, rows)
    torch.testing.assert_close(packed, padded, rtol=1e-4, atol=1e-5)


def test_exported_model_does_not_pack(backbone: Backbone, task: Task, tmp_path: Path) -> None:
    classifier_of(backbone, task).save(tmp_path)
    assert "hybridal" not in (tmp_path / "config.json").read_text(encoding="utf-8")


def test_the_plain_path_does_not_pack(tiny: Backbone, task: Task) -> None:
    assert not Classifier(tiny, task.classes, 7, Device("cpu", "fp32", fast=False)).packs
