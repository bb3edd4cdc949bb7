from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.from_files import load_files

Write = Callable[[str, str | bytes], Path]


def table(*labels: str, ids: str = "") -> str:
    """A text names its row's class, so that a test can see whether the two stay together."""
    rows = [f"text {i} is {label},{label},{ids}{i}\n" for i, label in enumerate(labels)]
    return "text,label,id\n" + "".join(rows)


@pytest.fixture
def train(write: Write) -> Path:
    return write("train.csv", table(*["spam", "ham", "ham"] * 100))


def test_one_file_is_divided(train: Path) -> None:
    task = load_files(train, text="text", label="label")
    assert (task.name, task.classes) == ("train", ("ham", "spam"))
    assert (len(task.train), len(task.validation), len(task.test)) == (190, 50, 60)
    ids = [id for _, split in task.splits() for id in split.ids]
    assert sorted(ids, key=int) == [str(i) for i in range(1, 301)]
    for _, split in task.splits():
        assert split.labels.dtype == np.int64
        for id, text, label in zip(split.ids, split.texts, split.labels, strict=True):
            assert text == f"text {int(id) - 1} is {task.classes[label]}"
        assert abs(np.mean(split.labels == 0) - 2 / 3) < 0.02


def test_the_split_follows_its_seed(train: Path) -> None:
    def ids(seed: int) -> list[str]:
        return list(load_files(train, text="text", label="label", split_seed=seed).test.ids)

    assert ids(42) == ids(42)
    assert ids(42) != ids(43)


def test_three_files(train: Path, write: Write) -> None:
    task = load_files(
        train,
        text="text",
        label="label",
        validation=write("valid.csv", table("ham", "spam", "")),
        test=write("test.csv", table("spam", "ham")),
    )
    assert (len(task.train), len(task.validation), len(task.test)) == (300, 3, 2)
    assert task.train.ids[:2] == ["train-1", "train-2"]
    assert task.validation.ids == ["validation-1", "validation-2", "validation-3"]
    assert task.validation.labels.tolist() == [0, 1, UNKNOWN]
    assert task.test.labels.tolist() == [1, 0]


def test_splits_without_a_file_are_drawn(train: Path, write: Write) -> None:
    task = load_files(train, text="text", label="label", test=write("test.csv", table("ham")))
    assert (len(task.train), len(task.validation), len(task.test)) == (250, 50, 1)


def test_own_ids_are_kept_as_they_are(write: Write) -> None:
    train, test = write("a.csv", table("x", "y", "x", "y", ids="a")), write("b.csv", table("x", "y", ids="b"))
    task = load_files(train, text="text", label="label", id="id", test=test, validation_size=0)
    assert [*task.train.ids, *task.test.ids] == ["a0", "a1", "a2", "a3", "b0", "b1"]


def test_texts_without_labels(write: Write) -> None:
    path = write("mail.csv", "text\n" + "some text\n" * 400)
    task = load_files(path, text="text", classes=["yes", "no"])
    assert task.classes == ("yes", "no")
    assert (len(task.train), len(task.validation), len(task.test)) == (350, 50, 0)
    assert set(task.train.labels) == {UNKNOWN}


def test_classes_narrow_down_and_extend(write: Write) -> None:
    path = write("mail.csv", table(*["a", "b", "c"] * 20))
    task = load_files(path, text="text", label="label", classes=["c", "a"])
    assert sum(len(split) for _, split in task.splits()) == 40
    assert all(
        text.endswith(task.classes[label]) for text, label in zip(task.train.texts, task.train.labels, strict=True)
    )
    path = write("more.csv", table(*["a", "b", ""] * 20))
    assert load_files(path, text="text", label="label", classes=["a", "b", "c"]).classes == ("a", "b", "c")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"name the label column with `label`, or classes with `classes`\. Its other columns are label, id\.$"),
        ({"label": "kind"}, r"train\.csv: there is no column 'kind'; its columns are text, label, id"),
        ({"label": "label", "test_size": 200, "validation_size": 100}, r"train\.csv: no row is left to learn from"),
        ({"label": "label", "test_size": 301}, "`test_size`: 301"),
    ],
)
def test_invalid_options_are_refused(train: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_files(train, text="text", **options)  # type: ignore[arg-type]


def test_a_size_for_a_split_that_has_a_file(train: Path, write: Write) -> None:
    test = write("test.csv", table("ham"))
    with pytest.raises(UserError, match=r"`test_size`: test is given as the file .*test\.csv"):
        load_files(train, text="text", label="label", test=test, test_size=10)


def test_a_label_that_train_lacks(train: Path, write: Write) -> None:
    test = write("test.csv", table("ham", "egg"))
    with pytest.raises(UserError, match=r"test\.csv, line 3: the label 'egg' does not occur in .*train\.csv"):
        load_files(train, text="text", label="label", test=test)


def test_ids_that_two_files_share(train: Path, write: Write) -> None:
    test = write("test.csv", table("ham", "spam"))
    with pytest.raises(UserError, match=r"test\.csv: the id '0' is also in .*train\.csv"):
        load_files(train, text="text", label="label", id="id", test=test)


def test_file_with_one_class_is_refused(write: Write) -> None:
    with pytest.raises(UserError, match=r"mail\.csv: every label is 'ham'"):
        load_files(write("mail.csv", table("ham", "ham")), text="text", label="label")


def test_empty_and_equal_texts_are_left_out_by_choice(write: Write) -> None:
    path = write("mail.csv", table(*["ham", "spam"] * 20) + ",ham,40\ntext 0 is ham,ham,41\n")
    sizes: dict[str, Any] = {"validation_size": 0, "test_size": 0}
    with pytest.raises(UserError, match="leave it out with `drop_empty`"):
        load_files(path, label="label", **sizes)
    messages: list[str] = []
    task = load_files(path, label="label", drop_empty=True, drop_duplicates=True, notify=messages.append, **sizes)
    assert len(task.train) == 40
    assert messages == [f"{path}: 40 rows, 1 without a text left out, 1 with a text that came before left out."]


def test_texts_that_repeat_are_mentioned(write: Write) -> None:
    messages: list[str] = []
    rows = table(*["ham", "spam"] * 20)
    load_files(write("mail.csv", rows), label="label", notify=messages.append)
    assert messages == []
    path = write("mail.csv", rows + "text 0 is ham,ham,41\n")
    load_files(path, label="label", notify=messages.append)
    assert messages == [f"{path}: 41 rows, 1 repeat a text that came before."]


def test_texts_that_two_files_have_are_mentioned_with_an_example(write: Write) -> None:
    messages: list[str] = []
    path = write("mail.csv", table(*["ham", "spam"] * 20))
    test = write("test.csv", "text,label,id\nnew,ham,t1\ntext 1 is spam,spam,t2\n")
    load_files(path, label="label", test=str(test), notify=messages.append)
    assert messages == [
        f"{test}: 1 of its 2 texts is also in {path}, such as 'text 1 is spam' ({test}, line 3); figures on texts that "
        "were learnt are too good: take them out of one."
    ]


def test_one_file_for_two_splits_is_refused(write: Write) -> None:
    path = write("mail.csv", table(*["ham", "spam"] * 20))
    again = path.parent / ".." / path.parent.name / "mail.csv"
    with pytest.raises(
        UserError, match=r"`test`: .* is the file of train, too; name another one, or leave it"
    ) as caught:
        load_files(path, label="label", test=str(again))
    assert caught.value.field == "test"


def test_labels_that_differ_only_in_capitals_are_mentioned(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    messages: list[str] = []
    path = write("mail.csv", table(*["ham", "Ham", "spam "] * 20))
    assert load_files(path, label="label", notify=messages.append).classes == ("Ham", "ham", "spam")
    assert [sentence.split(" are ")[0] for sentence in messages] == [f"{path}: 'Ham' and 'ham'"]
    assert caplog.messages == []
    load_files(path, label="label")
    assert caplog.messages == messages


def test_several_labels_need_no_option_but_can_be_refused_or_asked_for(write: Write) -> None:
    told: list[str] = []
    path = write(
        "mail.jsonl",
        "".join(f'{{"text": "t{i}", "label": ["a", "b"]}}\n{{"text": "u{i}", "label": []}}\n' for i in range(9)),
    )
    task = load_files(path, label="label", notify=told.append, test_size=0)
    assert task.multi_label
    assert told == [f"{path}: as its labels are written, a text may have several classes or none."]
    with pytest.raises(UserError, match=r"line 1, column 'label': \['a', 'b'\]; each text has exactly one label here"):
        load_files(path, label="label", multi_label=False)

    one = write("one.csv", "text,label\nx,a\ny,b\n")
    assert not load_files(one, label="label", test_size=0, validation_size=0).multi_label
    asked = load_files(one, label="label", multi_label=True, test_size=0, validation_size=0)
    assert asked.answers(["1", "2"]) == {"1": frozenset("a"), "2": frozenset("b")}
    assert load_files(one, classes=["a", "b"], multi_label=True).multi_label
    cells = write("cells.csv", 'text,label\nx,"[""a""]"\ny,"[""b""]"\n')
    assert load_files(cells, label="label", multi_label=False).classes == ('["a"]', '["b"]')


def test_classes_keep_texts_that_have_others(write: Write) -> None:
    path = write("mail.csv", "text,label\n" + "x,a;b\ny,b\nz,c\n" * 9)
    task = load_files(path, label="label", label_separator=";", classes=["b", "a"], validation_size=0, test_size=0)
    assert task.classes == ("b", "a")
    assert task.answers(["1", "2", "3"]) == {"1": frozenset("ab"), "2": frozenset("b"), "3": frozenset()}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"label": "a", "labels": ["a", "b"]}, "`label` is one column of labels, `labels` is a column per class"),
        ({"labels": ["a"]}, "`labels` names 1 columns; give one per class"),
        ({"labels": "ab"}, "`labels` is 'ab'; give a list of columns"),
        ({"labels": ["a", "c"]}, "there is no column 'c'"),
        ({"labels": ["a", "text"]}, "`label` names the column 'text', which holds the texts"),
        ({"labels": ["a", "b"], "multi_label": False}, "`multi_label` is false, and a column per class means several"),
        ({"labels": ["a", "b"], "label_separator": ";"}, "`label_separator` is for one column of labels"),
        ({"labels": ["a", "b"]}, r"mail\.csv, line 4, column 'b': '2' is neither 0 nor 1"),
        ({"label": "kind", "label_separator": ";"}, r"mail\.csv, line 3, column 'kind': ';' names no class"),
    ],
)
def test_errors_with_several_labels(write: Write, options: dict[str, Any], told: str) -> None:
    path = write("mail.csv", "text,kind,a,b\nx,u;v,0,1\ny,;,1,0\nz,u,1,2\n")
    with pytest.raises(UserError, match=told):
        load_files(path, **options)


def test_a_repeated_text_takes_the_first_label_even_if_it_is_none_of_the_classes(write: Write) -> None:
    path = write("mail.csv", 'text,label\nx,\nx,[]\nx,"[""a"", ""b""]"\ny,"[""a"", ""b""]"\n')
    task = load_files(path, label="label", drop_duplicates=True, validation_size=0, test_size=0)
    assert task.answers(["1", "4"]) == {"1": frozenset(), "4": frozenset("ab")}
