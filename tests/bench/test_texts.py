from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.job import Rules
from bench.texts import deal
from hybridal.errors import UserError
from hybridal.tasks import Split, Task

RULES = Rules(labelled=5, candidates=10, validation=4)


def split(part: str, count: int) -> Split:
    rows = [f"{part} {row}" for row in range(count)]
    return Split(rows, rows, np.arange(count) % 3)


TASK = Task("t", ("a", "b", "c"), split("train", 40), split("validation", 9), Split.empty())


def test_as_many_texts_are_dealt_as_asked_for_each_once_with_its_label() -> None:
    texts = deal(TASK, RULES)
    assert len(set(texts.train)) == len(texts.train_labels) == 15
    assert len(set(texts.validation)) == len(texts.validation_labels) == 4
    assert all(int(text.split()[1]) % 3 == label for text, label in zip(texts.train, texts.train_labels, strict=True))


def test_the_same_texts_are_dealt_each_time() -> None:
    assert deal(TASK, RULES) == deal(TASK, RULES)


def test_a_task_that_is_too_small_is_refused() -> None:
    with pytest.raises(UserError, match="too few"):
        deal(replace(TASK, train=split("train", 14)), RULES)
