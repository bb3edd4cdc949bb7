from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybridal.backbones import Backbone
from hybridal.model.evaluation import predict
from hybridal.task import Task

from ..parts import ARCHITECTURES, examples_of, random_backbone
from .parts import pair

pytestmark = pytest.mark.gpu


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
