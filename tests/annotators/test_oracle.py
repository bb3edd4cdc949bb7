from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from hybridal.annotators.callback import Callback
from hybridal.annotators.oracle import Oracle
from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.task import Split, Task

TASK = Task(
    "mail",
    ("ham", "spam"),
    Split(["a", "b", "c"], ["one", "two", "three"], np.array([1, UNKNOWN, 0])),
    Split(["v"], ["four"], np.array([1])),
    Split(["t"], ["five"], np.array([UNKNOWN])),
)


def test_oracle_knows_the_labels_of_every_split() -> None:
    assert Oracle(TASK).label({"c": "three", "v": "four", "a": "one"}) == {"c": "ham", "v": "spam", "a": "spam"}
    assert Oracle(TASK).label({}) == {}


@pytest.mark.parametrize("unknown", ["b", "t"])
def test_oracle_names_a_text_without_label(unknown: str) -> None:
    with pytest.raises(UserError, match=f"id '{unknown}' of task 'mail' has no label .* `labels` a file"):
        Oracle(TASK).label({"a": "one", unknown: "..."})


def test_fallback_annotator_gets_only_texts_without_label() -> None:
    asked: list[dict[str, str]] = []

    def person(texts: Mapping[str, str]) -> dict[str, str]:
        asked.append(dict(texts))
        return dict.fromkeys(texts, "ham")

    oracle = Oracle(TASK, Callback(person))
    assert oracle.label({"a": "one", "b": "two"}) == {"a": "spam", "b": "ham"}
    assert asked == [{"b": "two"}]
    assert oracle.label({"a": "one"}) == {"a": "spam"}
    assert len(asked) == 1


def test_fallback_annotator_may_skip_texts() -> None:
    assert Oracle(TASK, Callback(lambda _texts: {})).label({"a": "one", "b": "two"}) == {"a": "spam"}
