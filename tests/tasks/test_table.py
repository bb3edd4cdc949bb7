from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.tasks.table import FileTable, NoColumnError, column_position, column_positions, joined


def test_a_missing_column_lists_those_there_are() -> None:
    with pytest.raises(NoColumnError) as told:
        column_position(Path("mail.csv"), "txt", ["text", "label"])
    assert told.value.found == "mail.csv: there is no column 'txt'; its columns are text, label"
    assert str(told.value) == f"{told.value.found}: name yours with `text`, `label` and `id`."
    with pytest.raises(NoColumnError, match="its columns are 'text ', label"):
        column_position(Path("mail.csv"), "text", ["text ", "label"])


def test_a_column_that_is_there_twice() -> None:
    with pytest.raises(UserError, match=r"mail\.csv: 2 columns are named 'text'; rename"):
        column_position(Path("mail.csv"), "text", ["text", "label", "text"])


@given(st.lists(st.lists(st.text(max_size=3), max_size=4), min_size=1, max_size=5))
def test_chunks_are_concatenated(pieces: list[list[str]]) -> None:
    path, line = Path("mail.csv"), count(2)
    tables = [
        FileTable(path, {"text": texts, "n": [1] * len(texts)}, "line", [next(line) for _ in texts]) for texts in pieces
    ]
    whole = joined(iter(tables))
    texts = [text for piece in pieces for text in piece]
    assert whole.columns == {"text": texts, "n": [1] * len(texts)}
    assert [whole.at(row) for row in range(len(texts))] == [f"mail.csv, line {row + 2}" for row in range(len(texts))]


def test_column_missing_in_some_chunks() -> None:
    path = Path("mail.jsonl")
    pieces = [FileTable(path, {"text": ["a"]}, "line", [1]), FileTable(path, {"text": ["b"], "n": [2]}, "line", [2])]
    assert joined(pieces).columns == {"text": ["a", "b"], "n": [None, 2]}


def test_rows_are_taken_with_their_places() -> None:
    table = FileTable(Path("mail.csv"), {"text": ["a", "b", "c"]}, "line", [2, 4, 6]).take([0, 2])
    assert (table.columns, table.at(1)) == ({"text": ["a", "c"]}, "mail.csv, line 6")


def test_only_requested_columns_must_be_unique() -> None:
    with pytest.raises(UserError, match="2 columns are named 'text'"):
        column_positions(Path("mail.csv"), ["text"], ["text", "text"], others=True)
    assert column_positions(Path("mail.csv"), ["text"], ["text", "n", "n", " "]) == {"text": 0}
