from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.models.training.class_descriptions import MAX_NAMED_CLASSES, readable_names


@given(st.lists(st.text(min_size=1), min_size=2, max_size=6, unique=True))
def test_every_class_has_a_text_with_a_letter_of_its_own_or_none_has(classes: list[str]) -> None:
    names = readable_names(classes)
    assert len(names) in (0, len(classes))
    assert all(any(map(str.isalpha, name)) for name in names)
    assert len(set(names)) == len(names)


def test_combining_marks_stay_with_their_letters() -> None:
    assert readable_names(["e\u0301te\u0301", "खेल"]) == ["été", "खेल"]


def test_names_equal_after_normalisation_are_kept_as_written() -> None:
    assert readable_names(["a_b", "a b", "Other"]) == ["a_b", "a b", "Other"]


def test_names_of_very_many_classes_are_no_examples() -> None:
    letters = [a + b + c for a in "abcdefghijk" for b in "abcdefghij" for c in "abcdefghij"]
    assert len(readable_names(letters[:MAX_NAMED_CLASSES])) == MAX_NAMED_CLASSES
    assert readable_names(letters[: MAX_NAMED_CLASSES + 1]) == []
