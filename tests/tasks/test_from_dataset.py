from __future__ import annotations

from typing import Any

import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.from_dataset import from_dataset
from hybridal.tasks.task import Task

NAMED = Features({"text": Value("string"), "label": ClassLabel(names=["pos", "neg"])})
SEVERAL = Features({"text": Value("string"), "label": List(ClassLabel(names=["pos", "neg"]))})


def rows(labels: list[Any], features: Features | None = None, **columns: list[Any]) -> Dataset:
    texts = [f"text {row}" for row in range(len(labels))]
    return Dataset.from_dict({"text": texts, "label": labels, **columns}, features=features)


def test_numbers_with_names_get_them_and_unknown_ones_none() -> None:
    task = from_dataset(rows([1, 0, -1] * 20, NAMED), validation_size=0, test_size=0)
    assert task.classes == ("pos", "neg")
    assert task.train.labels[:3].tolist() == [1, 0, UNKNOWN]
    assert task.train.ids[:2] == ["0", "1"]
    assert task.label(0) == "pos"


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        (["y", "x", None], ("x", "y"), str),
        ([1, -1, 0], ("-1", "0", "1"), int),
        ([True, False], ("False", "True"), bool),
    ],
)
def test_labels_without_names_are_taken_as_they_are(labels: list[Any], classes: tuple[str, ...], kind: type) -> None:
    task = from_dataset(rows(labels * 20), validation_size=0, test_size=0)
    assert (task.classes, task.label_type) == (classes, kind)


def test_splits_are_kept_and_what_is_missing_is_drawn() -> None:
    parts = DatasetDict(
        train=rows([0, 1] * 50, NAMED), test=rows([0, 1] * 3, NAMED), unsupervised=rows([-1] * 9, NAMED)
    )
    task = Task.from_dataset(parts)
    assert [len(split) for _, split in task.splits()] == [75, 25, 6]
    assert task.test.ids[:2] == ["test-0", "test-1"]
    held = {*task.train.ids, *task.validation.ids}
    assert held == {f"train-{row}" for row in range(100)}
    with pytest.raises(UserError, match="`test_size`: test is given as the split 'test'; use only one of the two"):
        from_dataset(parts, test_size=3)


def test_a_split_of_another_name() -> None:
    parts = {"pool": rows(["x", "y"] * 30), "dev": rows(["y", "x"] * 5), "test": rows(["x"])}
    task = from_dataset(parts, train="pool", validation="dev")
    assert [len(split) for _, split in task.splits()] == [60, 10, 1]
    assert task.classes[task.validation.labels[0]] == "y"


def test_a_column_of_ids_and_a_format() -> None:
    data = rows([0, 1] * 20, key=list(range(100, 140))).with_format("numpy")
    task = from_dataset(data, id="key", validation_size=0, test_size=0)
    assert task.id(task.train.ids[0]) == 100
    assert task.label_type is int


def test_dataset_without_labels() -> None:
    data = rows([None] * 40).remove_columns("label")
    task = from_dataset(data, label=None, classes=["x", "y"], validation_size=0)
    assert set(task.train.labels) == {UNKNOWN}


PLAIN = rows(["x", "y"] * 30)


@pytest.mark.parametrize(
    ("dataset", "options", "sentence"),
    [
        ({"test": PLAIN}, {}, "no split 'train'; it has test: name one with `train`"),
        ({"train": PLAIN}, {"validation": "dev"}, "no split 'dev'; it has train: name one with `validation`"),
        (PLAIN, {"text": "body"}, "split 'train': there is no column 'body'; it has text, label: name one with `text`"),
        (PLAIN, {"label": "kind"}, "no column 'kind'; it has text, label: .* leave labels out with `label=None`"),
        (PLAIN, {"id": "key"}, "no column 'key'; .* name one with `id`"),
        (rows([1, 2] * 9), {"text": "label"}, r"the column 'label' holds Value\('int64'\), not texts"),
        (
            rows([[0], [0, 1]] * 9, SEVERAL),
            {"multi_label": False},
            r"labels: number 0 is \['pos'\]; each text has exactly one label here",
        ),
        (
            rows([{"a": 1}] * 9),
            {},
            r"the column 'label' holds .*; name one of labels, or of lists of them, with `label`",
        ),
        (
            {"train": PLAIN, "test": rows(["x", "z"])},
            {},
            "split 'test', column 'label', row 1: the label 'z' does not occur in train, which has x, y",
        ),
        (
            {part: rows(["x", "y"], key=["a", "b"]) for part in ("train", "test")},
            {"id": "key"},
            "the id 'a' is in train and in test",
        ),
        (PLAIN.to_iterable_dataset(), {}, "is streamed, .* load it without streaming"),
        ({}, {}, "no split 'train'; it has none"),
        (PLAIN.to_pandas(), {}, r"a DataFrame is no Dataset of Hugging Face; use Task\.from_pandas for frames"),
        ({"train": {"text": ["a"]}}, {}, "a dict is no Dataset of Hugging Face"),
        (None, {}, "a NoneType is no Dataset of Hugging Face"),
    ],
)
def test_unusable_dataset_is_refused(dataset: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        from_dataset(dataset, **options)


def test_misspelt_class_is_refused_and_a_class_missing_in_a_small_split_is_not() -> None:
    train = Dataset.from_dict({"text": ["a", "b", "c"] * 20, "label": ["x", "y", "z"] * 20})
    few = Dataset.from_dict({"text": ["d", "e"], "label": ["x", "z"]})
    data = DatasetDict(train=train, test=few)
    task = from_dataset(data, classes=["x", "y"], validation_size=0)
    assert (len(task.train), len(task.test)) == (40, 1)
    with pytest.raises(UserError, match="split 'train': no text has the class 'yy' of `classes`"):
        from_dataset(data, classes=["x", "yy"])


@pytest.mark.parametrize("encoded", [True, False])
def test_labels_that_differ_only_in_capitals_are_noted_once(encoded: bool, caplog: pytest.LogCaptureFixture) -> None:
    data = rows(["Bug", "bug", "idea"] * 20)
    train = data.class_encode_column("label") if encoded else data
    task = from_dataset(DatasetDict(train=train, test=train), validation_size=0)
    assert task.classes == ("Bug", "bug", "idea")
    (message,) = [one for one in caplog.messages if "different classes" in one]
    assert "'Bug' and 'bug' are different classes" in message


def test_texts_that_two_splits_have_are_noted(caplog: pytest.LogCaptureFixture) -> None:
    data = rows(["x", "y"] * 20)
    from_dataset(DatasetDict(train=data, test=data.select([3, 4])), validation_size=0)
    (message,) = caplog.messages
    assert message.startswith("split 'test': 2 of its 2 texts are also in split 'train', such as 'text 3' (row 0); ")


@pytest.mark.parametrize(
    ("features", "labels"), [(SEVERAL, [[1], [0, 1], [], None]), (None, [["neg"], ["pos", "neg"], [], None])]
)
def test_lists_of_labels_keep_sets_and_splits(features: Features | None, labels: list[Any]) -> None:
    parts = {"train": rows(labels * 30, features), "test": rows(labels[::-1], features)}
    task = from_dataset(parts, validation_size=0)
    assert task.multi_label
    assert set(task.classes) == {"pos", "neg"}
    answers = task.answers([f"test-{row}" for row in range(4)])
    assert answers == {"test-1": frozenset(), "test-2": frozenset(["pos", "neg"]), "test-3": frozenset(["neg"])}
    assert task.answer(task.train.labels[1]) == frozenset(["pos", "neg"])


def test_indicator_columns_of_a_dataset() -> None:
    table = rows([None] * 40, sport=[1, 0] * 20, food=[1, 0] * 20)
    task = from_dataset(table, labels=["sport", "food"], validation_size=0, test_size=0)
    assert task.answers(task.train.ids[:2]) == {"0": frozenset(["sport", "food"]), "1": frozenset()}
    with pytest.raises(UserError, match="`label` is one column of labels, `labels` is a column per class"):
        from_dataset(table, label="kind", labels=["sport", "food"])


def test_lists_of_a_label_that_train_lacks() -> None:
    with pytest.raises(UserError, match="split 'test', column 'label', row 1: the label 'z' does not occur in train"):
        from_dataset({"train": rows([["x"], ["y"]] * 20), "test": rows([["x"], ["y", "z"]])}, validation_size=0)
