from __future__ import annotations

from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.from_memory import from_pandas, from_texts
from hybridal.tasks.label_values import label_text
from hybridal.tasks.store import load_saved, save_task
from hybridal.tasks.task import Task

NOTHING_HELD: dict[str, Any] = {"validation_size": 0, "test_size": 0}


def frame(rows: int = 60, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"body": [f"text {row}" for row in range(rows)], **columns})


def test_typical_frame_becomes_a_task() -> None:
    data = frame(kind=["ham", "spam", "ham"] * 20)
    task = Task.from_pandas(data, text="body", label="kind")
    assert task.classes == ("ham", "spam")
    assert sum(len(split) for _, split in task.splits()) == 60
    answers = {int(id): name for id, name in task.answers([id for _, s in task.splits() for id in s.ids]).items()}
    assert answers == data["kind"].to_dict()
    assert task.id(task.train.ids[0]) in data.index
    assert task.id_type is int


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        ([3, 1, 1], ("1", "3"), int),
        ([3.0, 1.0, float("nan")], ("1", "3"), int),
        ([3.0, 1.0, 1.0], ("1", "3"), float),
        ([0.5, 1.5, None], ("0.5", "1.5"), float),
        ([True, False, None], ("False", "True"), bool),
        (["b", "a", None], ("a", "b"), str),
        ([np.int64(10), np.int64(9), None], ("9", "10"), int),
        ([10, "9", None], ("10", "9"), str),
    ],
)
def test_labels_come_back_as_they_were(labels: list[Any], classes: tuple[str, ...], kind: type) -> None:
    task = from_texts([f"text {row}" for row in range(60)], labels * 20, **NOTHING_HELD)
    assert (task.classes, task.label_type) == (classes, kind)
    for row, given_label in enumerate(labels):
        number = task.train.labels[row]
        if given_label is None or given_label != given_label:
            assert number == UNKNOWN
        elif kind is not str:
            assert task.label(number) == given_label
            assert type(task.label(number)) is kind


@given(st.lists(st.one_of(st.integers(-(10**9), 10**9), st.text(min_size=1)), min_size=4, max_size=30, unique_by=str))
def test_ids_map_back_to_rows(ids: list[Any]) -> None:
    enough = [*ids, *range(10**30, 10**30 + 40 - len(ids))]
    task = from_texts(["a", "b"] * 20, ids=enough, classes=["x", "y"], **NOTHING_HELD)
    assert task.train.ids[: len(ids)] == [str(id) for id in ids]
    if all(type(id) is int for id in ids):
        assert [task.id(id) for id in task.train.ids[: len(ids)]] == ids


def test_types_of_ids_and_labels_survive_the_disk(tmp_path: Path) -> None:
    task = from_texts(["a", "b"] * 20, [True, False] * 20, ids=range(100, 140))
    save_task(task, tmp_path / "task")
    again = load_saved(tmp_path / "task")
    assert (again.id_type, again.label_type) == (int, bool)
    assert [again.label(number) for number in (0, 1)] == [False, True]


def test_classes_can_be_left_out_or_added() -> None:
    texts, labels = ["a", "b", "c", "d"] * 20, ["x", "y", None, "z"] * 20
    narrow = from_texts(texts, labels, classes=["z", "y"], **NOTHING_HELD)
    assert narrow.classes == ("z", "y")
    assert sorted(set(narrow.train.labels.tolist())) == [UNKNOWN, 0, 1]
    assert len(narrow.train) == 60
    wide = from_texts(texts, labels, classes=["x", "y", "z", "to come"], **NOTHING_HELD)
    assert len(wide.train) == 80


def test_leaving_out_and_adding_classes_is_taken_for_a_misspelling() -> None:
    with pytest.raises(UserError, match="texts: no text has the class 'hamm' of `classes`; those found are ham, spam"):
        from_texts(["a", "b"] * 20, ["ham", "spam"] * 20, classes=["hamm", "spam"])


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pd.array, pd.Categorical, iter])
def test_texts_and_labels_may_be_any_sequence(kind: Any) -> None:
    texts, labels, ids = [f"text {row}" for row in range(40)], ["x", "y"] * 20, [*range(7, 47)]
    task = from_texts(kind(texts), kind(labels), ids=kind(ids), classes=kind(["y", "x"]), **NOTHING_HELD)
    assert task.classes == ("y", "x")
    assert [*task.train.texts] == texts
    assert [task.label(number) for number in task.train.labels] == labels
    assert [task.id(id) for id in task.train.ids] == ids


@pytest.mark.parametrize("nothing", [None, float("nan"), np.float64("nan"), Decimal("NaN"), pd.NA, pd.NaT, "", "  "])
def test_missing_values_mean_no_label(nothing: Any) -> None:
    task = from_texts(["a", "b", "c"] * 20, ["x", "y", nothing] * 20, **NOTHING_HELD)
    assert task.classes == ("x", "y")
    assert (task.train.labels == UNKNOWN).sum() == 20


def test_no_text_is_lost_where_labels_of_several_types_are_equal() -> None:
    task = from_texts(["a", "b", "c", "d"] * 20, [True, 1, 0, False] * 20, **NOTHING_HELD)
    assert sorted(task.classes) == ["0", "1", "False", "True"]
    assert len(task.train) == 80


def test_the_classes_of_a_set_have_one_order() -> None:
    assert from_texts(["a"] * 20, classes={"y", "x", "z"}, **NOTHING_HELD).classes == ("x", "y", "z")


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"texts": ["a", ""], "labels": ["x", "y"]}, r"text 1 \(id 1\) is empty"),
        ({"texts": ["a", "\u200b\n"], "labels": ["x", "y"]}, r"text 1 \(id 1\) is empty"),  # as it looks, and in files
        ({"texts": [], "labels": []}, "there are no texts; give some"),
        ({"texts": ["a", None], "labels": ["x", "y"]}, r"text 1 \(id 1\) is None, not a text; leave it out or"),
        (
            {"texts": ["", "a", None, " "], "labels": ["x", "y", "x", "y"]},
            r"text 0 \(id 0\) is empty, and 2 more have no words; leave them out or give them words",
        ),
        ({"texts": ["a", "b"], "labels": ["x"]}, "the number of labels is 1, that of texts 2"),
        ({"texts": ["a", "b"], "labels": [None, None]}, "no text has a label; name the classes"),
        ({"texts": ["a", "b"], "labels": ["x", "y"], "ids": [1, 1]}, "the id '1' occurs twice"),
        ({"texts": ["a", "b"], "labels": ["x", "x"]}, "one class, 'x', leaves nothing to learn"),
        (
            {"texts": ["a", "b"], "labels": ["x", "y"], "ids": [1, None]},
            "the id of text 1 is None; give every text one",
        ),
        (
            {"texts": ["a", "b"], "labels": [["x"], ["y"]], "multi_label": False},
            r"labels: number 0 is \['x'\]; each text has exactly one label here",
        ),
        (
            {"texts": ["a", "b"], "labels": [{"x": 1}, "y"]},
            "labels: number 0 is {'x': 1}; give a list of classes, or True",
        ),
        ({"texts": ["a", "b"], "labels": [["x", None], ["y"]]}, "labels: number 0 is .*, in which None is not a class"),
        ({"texts": ["a", "b"], "labels": [["x", ["z"]], ["y"]]}, r"in which \['z'\] is not a class; give a list"),
        ({"texts": ["a", "b"], "labels": np.eye(2)}, "labels have 2 columns; name the class of each, .* `classes`"),
        ({"texts": ["a"], "labels": np.eye(1), "classes": ["x", "y"]}, "have 1 columns, and `classes` names 2"),
        ({"texts": ["a", "b"], "labels": np.eye(2) / 2, "classes": ["x", "y"]}, "row 0, column 'x': 0.5 is neither 0"),
        ({"texts": ["a", "b"], "labels": ["x;y", " ; "], "label_separator": ";"}, "';' names no class; write \\[\\]"),
        ({"texts": ["a", "b"], "labels": ["x", "y"], "label_separator": ""}, "`label_separator` is empty; name what"),
        (
            {"texts": ["a", "b"], "labels": ["x", "y"], "label_separator": ";", "multi_label": False},
            "`multi_label` is false, and `label_separator` means several labels per text; leave out one",
        ),
        ({"texts": "a text", "classes": ["x", "y"]}, "texts must be a list, a column or .*, not 'a text'"),
        ({"texts": {1: "a"}, "classes": ["x", "y"]}, "texts must be a list"),
        ({"texts": ["a", "b"], "classes": "xy"}, "`classes` must be a list"),
        ({"texts": ["a", "b"], "classes": ["x", None]}, "a class name is empty"),
        ({"texts": ["a", "b\ud800"], "classes": ["x", "y"]}, r"text 1 holds U\+D800, half a character"),
        ({"texts": ["a", "b"], "classes": ["x", "y"], "ids": ["1", "\udfff"]}, r"id 1 holds U\+DFFF"),
        ({"texts": ["a", "b"], "labels": [1.0, float("inf")]}, "labels: number 1 is inf, not a finite number; correct"),
        ({"texts": ["a", "b"], "labels": np.array([-np.inf, 1])}, "labels: number 0 is -inf, not a finite number"),
        ({"texts": ["a", "b"], "labels": [np.float32("inf"), 1]}, "labels: number 0 is .*, not a finite number"),
        ({"texts": ["a", "b"], "classes": [1.0, float("inf")]}, "`classes`: number 1 is inf, not a finite number"),
        ({"texts": ["a", "b"], "classes": {1.0, float("inf")}}, "`classes`: number 1 is inf, not a finite number"),
        ({"texts": ["a", "b"], "labels": [Decimal("Infinity"), 1]}, "labels: number 0 is .*, not a finite number"),
        ({"texts": ["a", "b"], "labels": [bytearray(b"spam"), "x"]}, "labels: number 0 is .*; decode bytes to text"),
        ({"texts": ["a", "b"], "labels": [b"spam", b"ham"]}, r"labels: number 0 is b'spam'; decode bytes to text"),
        ({"texts": ["a", "b"], "labels": np.array([b"spam", b"ham"])}, r"labels: number 0 is b'spam'; decode bytes"),
        ({"texts": [b"a", b"b"], "labels": ["x", "y"]}, r"^texts: number 0 is b'a'; decode bytes to text"),
        ({"texts": ["a", "b"], "classes": ["x", "y"], "ids": [b"1", b"2"]}, r"ids: number 0 is b'1'; decode bytes"),
        (
            {"texts": ["a", "b"], "labels": ["x" * 1001, "y"]},
            r"texts: a label has 1,001 characters \('xxxx.*x…'\); a cl",
        ),
        ({"texts": ["a", "b"], "classes": ["x" * 1001, "y"]}, "`classes`: a name has 1,001 characters"),
    ],
)
def test_unusable_input_is_refused(bad: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        from_texts(**bad)


def test_an_index_of_several_levels_is_not_made_a_text_that_finds_no_row() -> None:
    frame = pd.DataFrame({"text": ["a", "b"] * 20}, index=pd.MultiIndex.from_product([["x", "y"], range(20)]))
    with pytest.raises(UserError, match=r"The frame's index has 2 levels; name a column of ids with `id`"):
        from_pandas(frame, classes=["x", "y"])
    assert from_pandas(frame.assign(number=range(40)), id="number", classes=["x", "y"]).id_type is int


def test_an_index_with_the_same_row_twice() -> None:
    both = pd.concat([frame(kind=["x", "y"] * 30)] * 2)
    with pytest.raises(UserError, match=r"index has '0' twice; name a column of ids with `id`, or .* `reset_index`"):
        from_pandas(both, text="body", label="kind")
    assert len(from_pandas(both.reset_index(drop=True), text="body", label="kind", **NOTHING_HELD).train) == 120


def test_other_frames_are_converted_by_their_own_method() -> None:
    table = pyarrow.table({"body": ["good", "bad"] * 30, "kind": ["+", None] * 30})
    task = from_pandas(table, text="body", label="kind", classes=["+", "-"], **NOTHING_HELD)
    assert (len(task.train), int((task.train.labels == UNKNOWN).sum())) == (60, 30)
    assert task.train.ids[:2] == ["0", "1"]


def test_a_lazy_frame_is_to_be_collected() -> None:
    lazy = SimpleNamespace(columns=["text"], collect=list)
    with pytest.raises(UserError, match=r"got a SimpleNamespace; call its `collect` first\.$"):
        from_pandas(lazy)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"texts": [("a", "b"), ("c", "d")]}, r"^texts: number 0 is \('a', 'b'\); pairs of texts are not supported"),
        ({"texts": np.array([["a", "b"]])}, r"texts: number 0 is \['a', 'b'\]; pairs of texts are not supported"),
    ],
)
def test_pairs_of_texts_are_refused_by_name(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        from_texts(**given)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"text": ["a", "b"]}, "`text` names 2 columns; pairs of texts are not supported"),
        ({"text": "body", "label": "body"}, "`label` names the column 'body', which holds the texts; name another"),
        ({"text": "body", "label": "kind", "id": "kind"}, "`label` names the column 'kind', which holds the ids"),
        (
            {"text": "body", "label": ["x", "y"]},
            "`label` names 2 columns; name one, or indicator columns, one per class, with `labels`",
        ),
    ],
)
def test_several_columns_for_one_thing(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        from_pandas(frame(kind=["x", "y"] * 30), **asked)


@pytest.mark.parametrize("other", [["a", "b"], pd.Series(["a", "b"]), None])
def test_other_types_are_refused_as_frames(other: Any) -> None:
    with pytest.raises(
        UserError, match=r"Polars DataFrame or an Arrow table, got a (list|Series|NoneType); give lists"
    ):
        from_pandas(other)


class Kind(str, Enum):  # noqa: UP042 - as text it is 'Kind.HAM'
    HAM = "ham"
    SPAM = "spam"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


@pytest.mark.parametrize("members", [Kind, Level])
def test_members_of_an_enumeration_come_back_equal(members: Any) -> None:
    labels = [*members] * 20
    task = from_texts(["a", "b"] * 20, labels, **NOTHING_HELD)
    assert [task.label(number) for number in task.train.labels] == labels
    assert task.class_index(label_text(labels[1])) == 1


def test_narrow_fractions_are_found_again_one_by_one() -> None:
    column = pd.Series([0.1, 0.2] * 20, dtype="float32")
    task = from_texts(["a", "b"] * 20, column, **NOTHING_HELD)
    assert [task.class_index(label_text(column[row])) for row in (0, 1)] == [0, 1]


def test_duplicate_column_is_refused() -> None:
    with pytest.raises(UserError, match="2 columns 'body'; rename all but one"):
        from_pandas(pd.concat([frame(), frame()], axis=1), text="body", classes=["x", "y"])


def test_missing_column_is_refused() -> None:
    with pytest.raises(UserError, match="no column 'text'; it has body"):
        from_pandas(frame())


def test_frame_without_a_label_column_is_refused() -> None:
    with pytest.raises(
        UserError, match="classes are not known; name the column of labels with `label`, or the classes"
    ):
        from_pandas(frame(label=["x", "y"] * 30), text="body")


def test_files_and_names(tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    path.write_text("text,kind\n" + "Hello,ham\nWIN NOW,spam\n" * 30)
    assert Task.from_file(path, label="kind").classes == ("ham", "spam")
    with pytest.raises(UserError, match="no task 'nothing'"):
        Task.from_name("nothing")


def test_labels_that_differ_only_in_case_stay_separate_and_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    data = frame(kind=["Bug", "bug", "idea "] * 20)
    assert from_pandas(data, text="body", label="kind").classes == ("Bug", "bug", "idea ")
    (message,) = caplog.messages
    assert message.startswith("frame: 'Bug' and 'bug' are different classes")
    from_pandas(data, text="body", label="kind", classes=["Bug", "bug", "idea "])
    assert len(caplog.messages) == 1


def test_fractional_ids_are_returned_unchanged() -> None:
    task = from_texts(["a", "b"] * 10, [0, 1] * 10, ids=np.arange(20.0), **NOTHING_HELD)
    assert task.id_type is float
    assert task.id(task.train.ids[3]) == 3.0


def test_continuous_labels_are_refused() -> None:
    texts = [f"text {row}" for row in range(100)]
    with pytest.raises(
        UserError, match=r"texts: its 100 labels are 100 different numbers, such as 0\.5: .* low and high"
    ):
        from_texts(texts, [row + 0.5 for row in range(100)])
    half_stars = [row % 10 / 2 for row in range(100)]
    assert len(from_texts(texts, half_stars).classes) == 10
    numbered = from_texts(texts, [float(row) for row in range(100)], **NOTHING_HELD)
    assert len(numbered.classes) == 100  # names, such as those of topics


@pytest.mark.parametrize("seed", [1.5, "42", None, True])
def test_a_split_seed_that_is_not_a_whole_number_is_refused(seed: Any) -> None:
    with pytest.raises(UserError, match=rf"^`split_seed` must be a whole number, not {seed!r}; .*\.$") as told:
        from_texts(["a", "b"] * 40, ["x", "y"] * 40, split_seed=seed)
    assert told.value.field == "split_seed"


def test_a_split_seed_of_numpy_draws_as_an_int() -> None:
    seeds: list[Any] = [3, np.int64(3)]
    same = [from_texts(["a", "b"] * 40, ["x", "y"] * 40, split_seed=seed) for seed in seeds]
    assert same[0].fingerprint == same[1].fingerprint


def test_a_name_of_a_thousand_characters_is_a_class() -> None:
    assert from_texts(["a", "b"], ["x" * 1000, "y"], **NOTHING_HELD).classes == ("x" * 1000, "y")


def test_texts_without_an_order_are_refused() -> None:
    with pytest.raises(UserError, match="texts must be a list, a column or a one-dimensional array"):
        from_texts({"a", "b"}, [0, 1])
