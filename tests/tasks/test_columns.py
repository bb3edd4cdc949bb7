from __future__ import annotations

from typing import Any

import pytest

from hybridal.tasks.columns import Columns, guess_columns


@pytest.mark.parametrize(
    ("columns", "guessed"),
    [
        ({"text": ["a"]}, Columns("text")),
        ({"TEXT ": ["a"], "Label": ["x"], "ID": [1]}, Columns("TEXT ", "Label", "ID")),
        ({"title": ["long title here"], "body": ["b"]}, Columns("body")),
        ({"text_id": ["1", "2"], "text": ["a", "b"]}, Columns("text", None, "text_id")),
        ({"ticket-id": ["1", ""], "text": ["a", "b"]}, Columns("text")),  # one is missing
        ({"n": [1, 2], "words": ["a", "b"]}, Columns("words")),
        ({"n": [1, 2]}, Columns("n")),
        ({"id": [["list"], ["list"]], "text": ["a", "b"]}, Columns("text")),
    ],
)
def test_columns_are_guessed(columns: dict[str, list[Any]], guessed: Columns) -> None:
    assert guess_columns(columns) == guessed
