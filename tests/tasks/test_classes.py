from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.tasks.classes import choose_classes, sort_names
from hybridal.tasks.read import Rows
from hybridal.tasks.table import FileTable


def rows(*labels: str | None, path: str = "train.csv") -> Rows:
    ids = [str(i) for i, _ in enumerate(labels)]
    return Rows(ids, ids, labels, FileTable(Path(path), {}, "line", range(2, 2 + len(ids))), numbered=True)


def test_numbers_sort_as_numbers_and_mixtures_as_strings() -> None:
    assert sort_names(["10", "9", "10"]) == ("9", "10")
    assert sort_names(["10", "9", "x"]) == ("10", "9", "x")
    assert sort_names(["²", "1"]) == ("1", "²")


def test_found_or_asked_for() -> None:
    train = rows("spam", "ham", None, "ham")
    assert choose_classes(train, [], None) == ("ham", "spam")
    assert choose_classes(train, [], ["spam", "ham", "unsure"]) == ("spam", "ham", "unsure")
    assert choose_classes(rows("a", "b", "c"), [], ["c", "a"]) == ("c", "a")
    assert choose_classes(rows(None, None), [], ["yes", "no"]) == ("yes", "no")


def test_held_out_rows_of_a_class_that_is_left_out() -> None:
    assert choose_classes(rows("a", "b", "c"), [rows("b", None, path="test.csv")], ["c", "a"]) == ("c", "a")


@pytest.mark.parametrize(
    ("train", "asked", "said"),
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
    ],
)
def test_classes_that_make_no_task(train: Rows, asked: list[str] | None, said: str) -> None:
    with pytest.raises(UserError, match=said):
        choose_classes(train, [], asked)


@pytest.mark.parametrize("asked", [None, ["ham", "spam"]])
def test_a_held_out_label_that_train_lacks(asked: list[str] | None) -> None:
    held_out = rows("ham", "spma", path="test.csv")
    with pytest.raises(
        UserError, match=r"test\.csv, line 3: the label 'spma' does not occur in train\.csv.* ham, spam"
    ):
        choose_classes(rows("ham", "spam"), [held_out], asked)
