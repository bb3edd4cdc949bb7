from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hybridal.app.trainer import feature_cache
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.feature_cache import FeatureCache
from hybridal.core.outputs import Floats


class FakeChapter(Chapter):
    """Its encoder returns the length of a text and the number of its training."""

    def __init__(self) -> None:
        self.trained, self.read_texts = 1, list[str]()

    @property
    def model(self) -> Any:
        return self

    @property
    def encoder_key(self) -> tuple[Any, ...]:
        return self, self.trained

    def text_features(self, texts: Sequence[str]) -> Floats:
        self.read_texts += texts
        return np.array([[len(text), self.trained] for text in texts], dtype=np.float32)


def texts(*bodies: str) -> list[Any]:
    return [SimpleNamespace(row=row, id=f"t{row}", body=body, digest=body) for row, body in enumerate(bodies)]


def test_a_text_is_read_once_until_the_encoder_is_trained() -> None:
    chapter, found = FakeChapter(), FeatureCache()
    assert found.of(chapter, texts("one", "three")).tolist() == [[3, 1], [5, 1]]
    assert found.of(chapter, texts("one", "three", "seven")[::-1]).tolist() == [[5, 1], [5, 1], [3, 1]]
    assert chapter.read_texts == ["one", "three", "seven"]
    chapter.trained = 2
    assert found.of(chapter, texts("one")).tolist() == [[3, 2]]
    assert chapter.read_texts[3:] == ["one"]


def test_a_text_that_was_changed_is_read_again() -> None:
    chapter, found = FakeChapter(), FeatureCache()
    found.of(chapter, texts("one"))
    assert found.of(chapter, texts("longer")).tolist() == [[6, 1]]


def test_feature_cache_is_limited_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_cache, "MAX_BYTES", 3 * 8)
    chapter, found = FakeChapter(), FeatureCache()
    many = texts("a", "b", "c", "d", "e")
    for _ in range(2):
        assert found.of(chapter, many).shape == (5, 2)
    assert chapter.read_texts == ["a", "b", "c", "d", "e", "d", "e"]
