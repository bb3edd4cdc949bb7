from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybridal.backbones import Backbone
from hybridal.models.gpu.graph_passes import (
    LENGTH_STEP,
    MAX_BATCH_TEXTS,
    MAX_BATCH_TOKENS,
    MAX_ROW_TEXTS,
    MAX_ROW_TOKENS,
    RowPass,
    batches,
)
from hybridal.models.token_arrays import Tokens
from hybridal.models.training.forward_passes import predict
from hybridal.tasks import Task

from ..parts import ARCHITECTURES, examples_of, random_backbone
from .parts import pair


@pytest.mark.gpu
@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_outputs_of_graphs_equal_the_plain_path(
    architecture: str, pooling: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    plain, fast = pair(random_backbone(architecture, tiny.folder, tmp_path), task, pooling)
    texts = examples_of(tiny, task.train)
    for _ in range(2):  # once recorded, once replayed
        expected, found = (predict(c, texts.source, texts.rows, features=True) for c in (plain, fast))
        assert expected.hidden is not None
        assert found.hidden is not None
        assert expected.embedding is not None
        assert found.embedding is not None
        np.testing.assert_allclose(found.logits, expected.logits, atol=2e-4)
        np.testing.assert_allclose(found.hidden, expected.hidden, atol=2e-4)
        np.testing.assert_allclose(found.embedding, expected.embedding, atol=2e-4)


@pytest.mark.gpu
def test_a_pass_sees_weights_that_were_loaded_after_it_was_recorded(tiny: Backbone, task: Task) -> None:
    plain, fast = pair(tiny, task)
    texts = examples_of(tiny, task.train)
    before = predict(fast, texts.source, texts.rows).logits
    doubled = {name: 2 * weight for name, weight in fast.pretrained.items()}
    plain.load(doubled)
    fast.load(doubled)
    after = predict(fast, texts.source, texts.rows).logits
    np.testing.assert_allclose(after, predict(plain, texts.source, texts.rows).logits, rtol=1e-3, atol=1e-3)
    assert np.abs(after - before).max() > 0.01


@pytest.mark.gpu
def test_batch_invariant_output_does_not_depend_on_other_texts(tiny: Backbone, task: Task) -> None:
    _, fast = pair(tiny, task, "mean")
    texts = examples_of(tiny, task.train)
    together = predict(fast, texts.source, texts.rows, features=True, batch_invariant=True)
    for row in (0, 3, 50):
        by_itself = predict(fast, texts.source, texts.rows[[row]], features=True, batch_invariant=True)
        assert together.embedding is not None
        assert by_itself.embedding is not None
        assert (by_itself.embedding[0] == together.embedding[row]).all()


@pytest.mark.parametrize("longest", [3, 40, 512])
def test_rows_hold_all_texts_in_their_order_and_have_one_shape(longest: int) -> None:
    rng = np.random.default_rng(longest)
    texts = [rng.integers(1, 99, rng.integers(1, longest + 1)).tolist() for _ in range(300)]
    chosen = rng.permutation(300)[:290]
    found = list(RowPass(None).packed(Tokens.of(texts, pad=0), chosen, False))  # type: ignore[arg-type]
    assert np.concatenate([batch for batch, _, _ in found]).tolist() == list(range(290))
    [(size, tokens, most)] = {shape for _, shape, _ in found}
    assert size == MAX_ROW_TEXTS
    assert tokens <= MAX_ROW_TOKENS
    for batch, _, row in found:
        _, lengths, _, ids, _ = np.split(row, np.cumsum([size, size, 1, tokens]))
        expected = [texts[number] for number in chosen[batch]]
        assert lengths.tolist() == [*map(len, expected), *[0] * (size - len(batch))]
        assert lengths.max() <= most
        assert ids[: lengths.sum()].tolist() == [word for text in expected for word in text]
        assert not ids[lengths.sum() :].any()


@pytest.mark.parametrize("longest", [3, 40, 700])
def test_batch_invariant_pass_pads_each_text_to_its_own_bucket(longest: int) -> None:
    sizes = np.random.default_rng(0).integers(1, longest + 1, 600)
    found = list(batches(sizes, 700, MAX_BATCH_TOKENS, batch_invariant=True))
    assert sorted(row for batch, _ in found for row in batch.tolist()) == list(range(600))
    for batch, length in found:
        assert (np.minimum(-(-sizes[batch] // LENGTH_STEP) * LENGTH_STEP, 700) == length).all()


@pytest.mark.parametrize("count", [0, 1, 7, 512, 513, 3000])
@pytest.mark.parametrize("longest", [3, 40, 700])
def test_every_text_is_in_one_batch_of_like_lengths(count: int, longest: int) -> None:
    sizes = np.random.default_rng(count).integers(1, longest + 1, count)
    found = list(batches(sizes, 700, MAX_BATCH_TOKENS))
    assert sorted(row for batch, _ in found for row in batch.tolist()) == list(range(count))
    for batch, length in found:
        assert sizes[batch].max() <= length < sizes[batch].max() + LENGTH_STEP
        assert len(batch) <= MAX_BATCH_TEXTS
        assert len(batch) * length <= MAX_BATCH_TOKENS
    lengths = [length for _, length in found]
    assert lengths == sorted(lengths, reverse=True)
