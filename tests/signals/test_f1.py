from __future__ import annotations

import pytest
from sklearn.metrics import f1_score

from hybridal.signals.f1 import F1
from hybridal.testing import FakeModel


def test_f1_change_equals_sklearns_macro_f1() -> None:
    models = [FakeModel.random(seed) for seed in (1, 2)]
    one, two = (
        f1_score(m.validation_labels, m.validation.logits.argmax(1), average="macro", labels=range(3)) for m in models
    )
    before, now = (F1().snapshot(model) for model in models)
    assert F1().change(before, now) == pytest.approx(abs(one - two))


def test_f1_threshold_is_half_the_published_normaliser() -> None:
    assert pytest.approx(0.01226745) == F1.epsilon
