from __future__ import annotations

from collections.abc import Mapping

import pytest

from hybridal.annotators.callback import Callback


def test_the_function_gets_the_texts_and_its_answer_is_the_answer() -> None:
    heard: list[Mapping[str, str]] = []

    def ask(texts: Mapping[str, str]) -> dict[str, str]:
        heard.append(texts)
        return {"b": "no"}

    texts = {"a": "one", "b": "two"}
    assert Callback(ask).label(texts) == {"b": "no"}
    assert heard == [texts]


def test_errors_of_the_function_pass_unchanged() -> None:
    def ask(texts: Mapping[str, str]) -> dict[str, str]:
        raise TimeoutError("no answer")

    with pytest.raises(TimeoutError, match="no answer"):
        Callback(ask).label({"a": "one"})
