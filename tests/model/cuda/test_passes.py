from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybridal.backbones import Backbone
from hybridal.model.cuda.passes import STEP, TEXTS, TOKENS, _batches
from hybridal.model.evaluation import predict
from hybridal.task import Task

from ..parts import ARCHITECTURES, examples_of, random_backbone
from .parts import pair


@pytest.mark.gpu
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_graphs_say_what_the_plain_path_says(architecture: str, tiny: Backbone, task: Task, tmp_path: Path) -> None:
    plain, fast = pair(random_backbone(architecture, tiny.folder, tmp_path), task)
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


@pytest.mark.parametrize("count", [0, 1, 7, 512, 513, 3000])
@pytest.mark.parametrize("longest", [3, 40, 700])
def test_every_text_is_in_one_batch_of_like_lengths(count: int, longest: int) -> None:
    sizes = np.random.default_rng(count).integers(1, longest + 1, count)
    batches = list(_batches(sizes, 700))
    assert sorted(row for batch, _ in batches for row in batch.tolist()) == list(range(count))
    for batch, length in batches:
        assert sizes[batch].max() <= length < sizes[batch].max() + STEP
        assert len(batch) <= TEXTS
        assert len(batch) * length <= TOKENS
    lengths = [length for _, length in batches]
    assert lengths == sorted(lengths, reverse=True)
