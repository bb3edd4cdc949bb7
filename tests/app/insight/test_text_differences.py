from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.insight.text_differences import CONTEXT, differences

words = st.lists(st.sampled_from(["a", "bc", "d", "parcel", "1", "."]), max_size=20).map(" ".join)


@given(words, words)
def test_the_parts_are_both_texts(one: str, other: str) -> None:
    parts = differences(one, other)
    assert "".join(text for text, kind in parts if kind != "removed") == other
    assert "".join(text for text, kind in parts if kind != "added") == one
    assert all(text for text, _ in parts)


@given(words)
def test_equal_texts_do_not_differ(text: str) -> None:
    assert {kind for _, kind in differences(text, text)} <= {"same"}


def test_characters_of_scripts_without_blanks_are_compared() -> None:
    assert differences("你好嗎", "你好吧") == [("你好", "same"), ("嗎", "removed"), ("吧", "added")]


def test_long_equal_parts_are_shortened() -> None:
    long = "word " * 100
    parts = differences(f"{long}one {long}two {long}", f"{long}1 {long}2 {long}")
    assert [kind for _, kind in parts] == ["same", "removed", "added", "same", "removed", "added", "same"]
    assert all(len(text) <= 2 * CONTEXT + 3 for text, _ in parts)
    assert parts[0][0].startswith("…")
    assert " … " in parts[3][0]
    assert parts[6][0].endswith("…")
    assert len(differences(long, long)[0][0]) == 2 * CONTEXT + 2


def test_long_texts_are_compared_quickly() -> None:
    one, other = " ".join(f"a{n}" for n in range(5000)), " ".join(f"b{n}" for n in range(5000))
    assert differences(f"same {one}", f"same {other}") == [("same ", "same"), (one, "removed"), (other, "added")]
