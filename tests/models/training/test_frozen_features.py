from __future__ import annotations

import numpy as np
import pytest

from hybridal.backbones import Backbone
from hybridal.models.training.forward_passes import predict
from hybridal.models.training.frozen_features import Features
from hybridal.tasks import Task

from ..parts import classifier_of, examples_of


def test_features_are_those_of_the_pretrained_encoder_after_training(tiny: Backbone, task: Task) -> None:
    classifier, texts = classifier_of(tiny, task, pooling="mean"), examples_of(tiny, task.train)
    expected = predict(classifier, texts.source, texts.rows[:9], features=True).embedding
    classifier.load({name: value + 0.1 for name, value in classifier.pretrained.items()})
    found = Features(classifier, texts.source).of(texts.rows[:9])
    assert expected is not None
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_features_do_not_depend_on_earlier_requests(tiny: Backbone, task: Task) -> None:
    classifier, texts = classifier_of(tiny, task, pooling="mean"), examples_of(tiny, task.train)
    at_once, bit_by_bit = Features(classifier, texts.source), Features(classifier, texts.source)
    together = at_once.of(texts.rows[:20])
    for rows in (texts.rows[15:20], texts.rows[[3]], texts.rows[:18][::-1]):
        bit_by_bit.of(rows)
    assert (bit_by_bit.of(texts.rows[:20]) == together).all()


def test_only_long_passes_report_their_progress(tiny: Backbone, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridal.models.training.frozen_features.UNREPORTED", 5)
    classifier, texts = classifier_of(tiny, task, pooling="mean"), examples_of(tiny, task.train)
    reports: list[tuple[int, int]] = []
    features = Features(classifier, texts.source, progress=lambda done, of: reports.append((done, of)))
    features.of(texts.rows[:5])
    assert reports == []
    features.of(texts.rows[:11])  # five are cached
    assert reports == [(done, 6) for done in range(1, 7)]


def test_features_of_given_weights(tiny: Backbone, task: Task) -> None:
    classifier, texts = classifier_of(tiny, task, pooling="mean"), examples_of(tiny, task.train)
    moved = {name: value + 0.01 for name, value in classifier.pretrained.items()}
    with classifier.using_weights(moved):
        expected = predict(classifier, texts.source, texts.rows[:9], features=True).embedding
    assert expected is not None
    features = Features(classifier, texts.source, moved)
    np.testing.assert_allclose(features.of(texts.rows[:9]), expected, atol=1e-4)
    assert (features.of_fixed(texts.rows[:9]) == expected).all()
    assert not np.allclose(Features(classifier, texts.source).of(texts.rows[:9]), expected, atol=1e-3)


def test_no_text_is_computed_twice(tiny: Backbone, task: Task) -> None:
    classifier, texts = classifier_of(tiny, task, pooling="mean"), examples_of(tiny, task.train)
    asked: list[int] = []

    class Counted:
        def __getattr__(self, name: str) -> object:
            return getattr(texts.source, name)

        def joined(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> object:
            asked.extend(rows.tolist())
            return texts.source.joined(rows)

    features = Features(classifier, Counted())  # type: ignore[arg-type]
    for rows in ([4, 2, 4], [2, 7], [7, 4]):
        features.of(np.array(rows))
    assert sorted(asked) == [2, 4, 7]
    for _ in range(2):
        features.of_fixed(np.array([1, 3]))
    assert sorted(asked) == [1, 2, 3, 4, 7]
