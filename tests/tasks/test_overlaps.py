from __future__ import annotations

import pytest

from hybridal.tasks.overlaps import note_overlaps

SPLITS = {"train.csv": ["a", "b ", "c"], "dev.csv": ["x", "b", " c"], "test.csv": ["y", "x"]}


def place(name: str, row: int) -> str:
    return f"{name}, line {row + 2}"


def test_every_pair_is_compared_and_blanks_at_the_ends_do_not_count() -> None:
    messages: list[str] = []
    note_overlaps(SPLITS, place, messages.append)
    assert [sentence.split(";")[0] for sentence in messages] == [
        "dev.csv: 2 of its 3 texts are also in train.csv, such as 'b' (dev.csv, line 3)",
        "test.csv: 1 of its 2 texts is also in dev.csv, such as 'x' (test.csv, line 3)",
    ]


def test_without_a_listener_they_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    note_overlaps(SPLITS, place)
    assert len(caplog.messages) == 2


def test_splits_without_a_text_in_common_are_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    messages: list[str] = []
    note_overlaps({"train.csv": ["a", "a"], "test.csv": ["b", "b"]}, place, messages.append)
    assert messages == caplog.messages == []
