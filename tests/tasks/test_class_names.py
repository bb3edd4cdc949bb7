from __future__ import annotations

import re
from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.tasks.class_names import (
    MANY_CLASSES,
    MAX_LISTED_GROUPS,
    choose_classes,
    note_joined_names,
    note_lookalikes,
    note_many_classes,
    refuse_measurements,
    sort_names,
)
from hybridal.tasks.read import Rows
from hybridal.tasks.table import FileTable


def rows(*labels: str | None, path: str = "train.csv") -> Rows:
    ids = [str(i) for i, _ in enumerate(labels)]
    return Rows(ids, ids, labels, FileTable(Path(path), {}, "line", range(2, 2 + len(ids))), numbered=True)


def test_numbers_sort_as_numbers_and_mixtures_as_strings() -> None:
    assert sort_names(["10", "9", "10"]) == ("9", "10")
    assert sort_names(["10", "9", "x"]) == ("10", "9", "x")
    assert sort_names(["²", "1"]) == ("1", "²")


def test_class_names_are_found_or_given() -> None:
    train = rows("spam", "ham", None, "ham")
    assert choose_classes(train, [], None) == ("ham", "spam")
    assert choose_classes(train, [], ["spam", "ham", "unsure"]) == ("spam", "ham", "unsure")
    assert choose_classes(rows("a", "b", "c"), [], ["c", "a"]) == ("c", "a")
    assert choose_classes(rows(None, None), [], ["yes", "no"]) == ("yes", "no")


def test_a_class_of_no_row_where_a_text_may_have_several() -> None:
    assert choose_classes(rows("spam", "ham"), [], ["spam", "ham", "unsure"], several=True) == ("spam", "ham", "unsure")
    with pytest.raises(UserError, match="no row has the class 'hamm'"):
        choose_classes(rows("spam", "ham"), [], ["spam", "hamm"], several=True)


def test_held_out_rows_of_a_class_that_is_left_out() -> None:
    assert choose_classes(rows("a", "b", "c"), [rows("b", None, path="test.csv")], ["c", "a"]) == ("c", "a")


@pytest.mark.parametrize(
    ("train", "asked", "message"),
    [
        (rows(None, None), None, r"train\.csv: no row has a label; name the classes with `classes`"),
        (rows("spam", None), None, r"train\.csv: every label is 'spam'"),
        (rows("spam"), ["spam"], "`classes`: one class"),
        (
            rows("spam", "ham", None),
            ["spam", "hamm"],
            "no row has the class 'hamm' of `classes`; those found are ham, spam",
        ),
        (rows("spam", "ham"), ["spam", "ham", "unsure"], "no row has the class 'unsure'"),
        (rows("spam", "ham"), ["spam", "h" * 1001], "`classes`: a name has 1,001 characters"),
    ],
)
def test_unusable_classes_are_refused(train: Rows, asked: list[str] | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose_classes(train, [], asked)


@pytest.mark.parametrize("asked", [None, ["ham", "spam"]])
def test_a_held_out_label_that_train_lacks(asked: list[str] | None) -> None:
    held_out = rows("ham", "spma", path="test.csv")
    with pytest.raises(
        UserError, match=r"test\.csv, line 3: the label 'spma' does not occur in train\.csv.* ham, spam"
    ):
        choose_classes(rows("ham", "spam"), [held_out], asked)


@pytest.mark.parametrize(
    ("found", "asked", "named"),
    [
        (["bug", "Bug", "idea", None, "bug"], [], "'Bug' and 'bug' are"),
        (["bug", " bug", "BUG", "Idea", "idea"], [], "' bug', 'BUG' and 'bug', 'Idea' and 'idea' are"),
        (["not  a bug", "not a bug"], [], "'not  a bug' and 'not a bug' are"),
        (["Bug", "bug", "idea"], ["bug", "idea"], "'Bug' and 'bug' are"),  # or the texts of one would go unnoticed
        ([name for n in range(MAX_LISTED_GROUPS + 2) for name in (f"a{n}", f"A{n}")], [], "'A4' and 'a4', 2 more are"),
    ],
)
def test_labels_that_differ_only_in_capitals_or_blanks_are_named(
    found: list[str | None], asked: list[str], named: str
) -> None:
    messages: list[str] = []
    note_lookalikes("train.csv", found, asked, messages.append)
    assert len(messages) == 1
    assert messages[0].startswith("train.csv: ")
    assert f"{named} different classes, though only capitals or blanks differ; spell them alike if" in messages[0]


@pytest.mark.parametrize(("found", "asked"), [(["bug", "bugs", None], []), (["Bug", "bug"], ["bug", "Bug", "idea"])])
def test_different_or_requested_labels_give_no_note(found: list[str | None], asked: list[str]) -> None:
    messages: list[str] = []
    note_lookalikes("train.csv", found, asked, messages.append)
    assert messages == []


@pytest.mark.parametrize(
    "labels", [["0.5", "nan"] * 30, [f"topic {row}.5" for row in range(60)], [str(row) for row in range(60)]]
)
def test_numeric_class_names_are_accepted(labels: list[str]) -> None:
    refuse_measurements("mail.csv", [*labels, None])


def test_measurements_are_refused_with_an_example() -> None:
    with pytest.raises(UserError, match=r"mail\.csv: its 60 labels are 60 different numbers, such as 0\.25") as caught:
        refuse_measurements("mail.csv", [None, *(f"{row}.25" for row in range(60))])
    assert caught.value.field == "label"


def test_very_many_classes_are_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    names = [str(number) for number in range(MANY_CLASSES + 1)]
    note_many_classes("mail.csv", names[1:], 5000)
    assert caplog.messages == []
    note_many_classes("mail.csv", names, 5000)
    assert caplog.messages[0].startswith(
        "mail.csv: 1,001 classes for 5,000 labels; with more than 1,000 a round can take"
    )


@pytest.mark.parametrize(
    ("found", "asked", "told"),
    [
        (["a", "b", "c", "a; b"], [], "'a; b' seems to be several, a and b; .*`label_separator` ';'"),
        (["a", "b", "c", "c|a|b"], [], r"'c\|a\|b' seems to be several, c, a and b; .*'\|'"),
        (["x" * 70, "b", f"b; {'x' * 70}"], [], rf"'b; {'x' * 57}' seems to be several, "),
        (["a", "b", "a; b"], ["a", "b", "a; b"], None),
        (["a", "a; b"], [], None),
        (["a", "b", "a; ", None], [], None),
    ],
)
def test_labels_that_were_not_split_are_noticed(found: list[str | None], asked: list[str], told: str | None) -> None:
    messages: list[str] = []
    note_joined_names("train.csv", found, asked, messages.append)
    assert len(messages) == (told is not None)
    assert told is None or re.search(told, messages[0])
