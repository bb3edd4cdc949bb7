from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.store import load_saved, save_task
from hybridal.tasks.task import Split, Task


def split(texts: list[str], labels: list[int], mark: str = "") -> Split:
    return Split([f"{mark}{i}" for i in range(len(texts))], texts, np.array(labels, dtype=np.int64))


TASK = Task(
    "tiny",
    ("no", "hm", "yes"),
    split(["bad", "so so", "good", "what"], [0, 1, 2, UNKNOWN]),
    split(["rather good indeed"], [2], "v"),
    split(["worse"], [0], "t"),
)


def test_repr_has_sizes_and_no_texts() -> None:
    splits = "train=Split(4 texts, 3 labelled), validation=Split(1 texts, 1 labelled), test=Split(1 texts, 1 labelled)"
    assert repr(TASK) == f"Task('tiny', 3 classes, {splits})"


def test_only_renumbers_and_keeps_the_unknown() -> None:
    task = TASK.only(["yes", "no"])
    assert task.classes == ("yes", "no")
    assert task.train.texts == ["bad", "good", "what"]
    assert task.train.labels.tolist() == [1, 0, UNKNOWN]
    assert task.validation.labels.tolist() == [0]
    assert task.test.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["yes", "nope"], "task 'tiny' has no class 'nope'; it has no, hm, yes"),
        (["yes"], "one class, 'yes'"),
        (["yes", "yes"], "'yes' is named twice"),
        (["yes", " "], "a class name is empty"),
        ("yes", "'yes' is one text; give a list of names"),
    ],
)
def test_only_with_invalid_classes_is_refused(classes: Any, message: str) -> None:
    with pytest.raises(UserError, match=f"`classes`: .*{message}"):
        TASK.only(classes)


def test_answers_take_the_given_ids_and_name_unknown_ones() -> None:
    numbers = replace(TASK, train=replace(TASK.train, ids=[str(row) for row in range(len(TASK.train))]), id_type=int)
    found = numbers.answers(range(len(TASK.train)))
    assert [*found.values()] == [TASK.classes[label] for label in TASK.train.labels if label != UNKNOWN]
    assert {type(id) for id in found} == {int}
    with pytest.raises(UserError, match="'999' is not the id of a text of task 'tiny'; give ids that it has"):
        numbers.answers([0, 999])


def test_only_that_leaves_nothing_to_learn_from() -> None:
    task = replace(TASK, train=split(["so so"], [1]))
    with pytest.raises(UserError, match="no text of task 'tiny' is left"):
        task.only(["yes", "no"])


def test_short_keeps_texts_of_few_words() -> None:
    task = TASK.short(1)
    assert task.train.texts == ["bad", "good", "what"]
    assert len(task.validation) == 0
    with pytest.raises(UserError, match="`max_words`: no text"):
        TASK.short(0)


@pytest.mark.parametrize(
    "other",
    [
        replace(TASK, classes=("no", "hmyes", "")),
        replace(TASK, train=replace(TASK.train, texts=["bad", "so so", "good", "what?"])),
        replace(TASK, train=replace(TASK.train, ids=["0", "1", "2", "4"])),
        replace(TASK, train=replace(TASK.train, labels=np.array([0, 1, 2, 2]))),
        replace(TASK, validation=TASK.test, test=TASK.validation),
    ],
)
def test_any_change_changes_the_fingerprint(other: Task) -> None:
    assert other.fingerprint != TASK.fingerprint


def test_the_fingerprint_is_of_content_not_of_form() -> None:
    train = Split(tuple(TASK.train.ids), tuple(TASK.train.texts), TASK.train.labels.astype(np.int8).astype(np.int64))
    assert replace(TASK, name="other", train=train).fingerprint == TASK.fingerprint


def test_the_fingerprint_is_a_hash_of_all_parts_with_their_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are hashed together."""

    def each(strings: Sequence[str]) -> bytes:
        parts = [string.encode() for string in strings]
        return len(parts).to_bytes(8, "little") + b"".join(len(part).to_bytes(8, "little") + part for part in parts)

    wanted = each(TASK.classes)
    for name, split in TASK.splits():
        wanted += each([name]) + each(split.ids) + each(split.texts) + split.labels.astype("<i8").tobytes()
    for together in (1, 3, 4096):
        monkeypatch.setattr("hybridal.tasks.task.STRINGS_PER_HASH", together)
        assert replace(TASK).fingerprint == hashlib.sha256(wanted).hexdigest()


@given(st.lists(st.text("a\0\1", max_size=3), max_size=3), st.lists(st.text("a\0\1", max_size=3), max_size=3))
def test_no_two_lists_of_texts_share_a_fingerprint(first: list[str], second: list[str]) -> None:
    def fingerprint(texts: list[str]) -> str:
        return replace(TASK, train=Split(["x"], texts, np.array([0]))).fingerprint

    assert (fingerprint(first) == fingerprint(second)) == (first == second)


def test_class_descriptions_are_checked_and_saved_with_the_task(tmp_path: Path) -> None:
    rows = Split(["a", "b", "c"], ["good", "bad", "so so"], np.array([2, 0, 1]))
    task = Task("tiny", ("1", "2", "3"), rows, Split.empty(), Split.empty(), label_type=int)
    described = task.with_descriptions({3: ["great", "fine"], 1: "poor", 2: []})
    assert described.descriptions == {"3": ("great", "fine"), "1": ("poor",)}
    assert task.descriptions == {}
    assert described.fingerprint != task.fingerprint
    assert described.only(["3", "2"]).descriptions == {"3": ("great", "fine")}
    assert described.short(1).merged().descriptions == described.descriptions
    save_task(described, tmp_path / "task")
    assert load_saved(tmp_path / "task").descriptions == described.descriptions
    with pytest.raises(UserError, match="'4' is not a class of task 'tiny'"):
        task.with_descriptions({4: "more"})
    assert described.with_descriptions({1: "bad", 3: []}).descriptions == {"1": ("bad",)}
    with pytest.raises(UserError, match="contains a broken Unicode character"):
        task.with_descriptions({1: "\ud800 x"})
    not_a_mapping: Any = ["poor"]
    with pytest.raises(UserError, match=r"a mapping of class names to texts, not \['poor'\]"):
        task.with_descriptions(not_a_mapping)
    without_words: list[Any] = ["", "  ", [""], [None], None, 5, float("nan"), {"a": "b"}]
    for nothing in without_words:
        with pytest.raises(UserError, match=r"The description of class '1' is .*; write words"):
            task.with_descriptions({1: nothing})
    with pytest.raises(UserError, match=r"The description of class '1' is b'poor'; write words"):
        task.with_descriptions({1: b"poor"})  # type: ignore[dict-item]


def test_a_task_without_descriptions_keeps_the_fingerprint_that_it_had() -> None:
    rows = Split(["a"], ["good"], np.array([0]))
    digest = hashlib.sha256()
    for strings in (["no", "yes"], ["train"], ["a"], ["good"]):
        digest.update(len(strings).to_bytes(8, "little"))
        for data in (string.encode() for string in strings):
            digest.update(len(data).to_bytes(8, "little") + data)
    digest.update(np.array([0], dtype="<i8").tobytes())
    for name in ("validation", "test"):
        for strings in ([name], [], []):
            digest.update(len(strings).to_bytes(8, "little"))
            for data in (string.encode() for string in strings):
                digest.update(len(data).to_bytes(8, "little") + data)
    task = Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty())
    assert task.fingerprint == digest.hexdigest()
