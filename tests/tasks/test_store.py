from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.store import load_saved, save_task
from hybridal.tasks.task import Split, Task
from hybridal.testing.small import toy_task

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ROWS = st.lists(st.tuples(WORDS, WORDS, st.sampled_from([0, 1, UNKNOWN])), max_size=5)


def split(rows: list[tuple[str, str, int]]) -> Split:
    ids, texts, labels = zip(*rows, strict=True) if rows else ((), (), ())
    return Split(list(ids), list(texts), np.array(labels, dtype=np.int64))


@settings(deadline=None, max_examples=40)
@given(WORDS, st.lists(WORDS, min_size=2, max_size=2, unique=True), ROWS, ROWS, ROWS)
def test_a_task_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    classes: list[str],
    train: list[tuple[str, str, int]],
    validation: list[tuple[str, str, int]],
    test: list[tuple[str, str, int]],
) -> None:
    task = Task(name, tuple(classes), split(train), split(validation), split(test))
    folder = tmp_path_factory.mktemp("store") / "task"
    save_task(task, folder)
    again = load_saved(folder)
    assert (again.name, again.classes) == (task.name, task.classes)
    for (_, one), (_, two) in zip(task.splits(), again.splits(), strict=True):
        assert (list(two.ids), list(two.texts), two.labels.tolist()) == (one.ids, one.texts, one.labels.tolist())
        assert two.labels.dtype == np.int64
    assert again.fingerprint == task.fingerprint


def test_labels_can_be_changed_in_memory(tmp_path: Path) -> None:
    save_task(toy_task(6, 2, 2), tmp_path / "task")
    labels = load_saved(tmp_path / "task").train.labels
    labels[0] = UNKNOWN
    assert load_saved(tmp_path / "task").train.labels[0] != UNKNOWN


def test_a_task_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    task = toy_task(6, 2, 2)
    broken = Task(task.name, task.classes, task.train, task.validation, Split(["a"], ["\ud800"], np.array([0])))
    with pytest.raises(UnicodeEncodeError):
        save_task(broken, tmp_path / "task")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["task.json", "train.parquet", "validation.parquet", "test.parquet"])
@pytest.mark.parametrize("damage", [None, b"", b"{}", b"half"])
def test_a_damaged_folder_is_named(tmp_path: Path, name: str, damage: bytes | None) -> None:
    folder = tmp_path / "task"
    save_task(toy_task(6, 2, 2), folder)
    if damage is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(damage)
    with pytest.raises(UserError, match=f"The texts in {folder} cannot be read .* restore that folder from a backup"):
        load_saved(folder)
