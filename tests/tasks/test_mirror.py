from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.mirror import find_mirrored, load_folder, mirrored, same_name

pytestmark = pytest.mark.usefixtures("parquet_here")


@pytest.mark.parametrize("name", ["ag_news", "agnews", "AG-News", "ag news"])
def test_benchmark_is_found_in_every_spelling(mirror: Path, name: str) -> None:
    assert find_mirrored(name) == mirror / "ag_news"


def test_folders_without_texts_are_no_tasks(mirror: Path) -> None:
    assert list(mirrored()) == ["ag_news", "my-mail"]
    assert find_mirrored("not a task") is None


@pytest.mark.parametrize(("name", "classes"), [("ag_news", ("World", "Sports")), ("my-mail", ("ham", "spam", "maybe"))])
def test_a_task_is_loaded_unchanged(mirror: Path, name: str, classes: tuple[str, ...]) -> None:
    task = load_folder(mirror / name)
    assert (task.name, task.classes) == (name, classes)
    assert (len(task.train), len(task.validation), len(task.test)) == (30, 6, 12)
    for part, split in task.splits():
        for id, text, label in zip(split.ids, split.texts, split.labels, strict=True):
            row = int(id.removeprefix(f"{part}-")) - 1
            assert text == f"{part} {row} {classes[label]}"


def rewrite(path: Path, labels: list[int | None]) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a"] * len(labels), "label": labels}), path)


def test_unknown_labels(mirror: Path) -> None:
    rewrite(mirror / "my-mail" / "train.parquet", [2, None, -1])
    assert load_folder(mirror / "my-mail").train.labels.tolist() == [2, UNKNOWN, UNKNOWN]


def test_a_label_without_a_name(mirror: Path) -> None:
    rewrite(mirror / "my-mail" / "test.parquet", [0, 3])
    with pytest.raises(UserError, match=r"test\.parquet, row 2, column 'label': '3' is not a number from 0 to 2"):
        load_folder(mirror / "my-mail")


def test_a_split_that_is_missing(mirror: Path) -> None:
    (mirror / "my-mail" / "validation.parquet").unlink()
    with pytest.raises(UserError, match=r"validation\.parquet: there is no such file"):
        load_folder(mirror / "my-mail")


@pytest.mark.parametrize("content", ["{", "{}", '{"label_names": ["one"]}', '{"label_names": [0, 1]}', "[]", None])
def test_label_names_that_cannot_be_read(mirror: Path, content: str | None) -> None:
    labels_file = mirror / "my-mail" / "labels.json"
    labels_file.unlink()
    if content is not None:
        labels_file.write_text(content)
    with pytest.raises(UserError, match=r"my-mail: the label names .*labels\.json"):
        load_folder(mirror / "my-mail")


def test_a_mirror_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HYBRIDAL_DATA", str(tmp_path / "gone"))
    with pytest.raises(UserError, match=r"HYBRIDAL_DATA: there is no folder .*gone"):
        mirrored()


def columns(folder: Path) -> list[str]:
    return list(pyarrow.parquet.read_schema(folder / "train.parquet").names)


def several_labels(folder: Path, labels: list[list[str] | None]) -> None:
    for part in ("train", "validation", "test"):
        table = pyarrow.table({"text": ["a"] * len(labels), "labels": labels})
        pyarrow.parquet.write_table(table, folder / f"{part}.parquet")


def test_a_task_with_several_labels_per_text(mirror: Path) -> None:
    several_labels(mirror / "my-mail", [["spam", "ham"], [], None, ["maybe"]])
    task = load_folder(mirror / "my-mail")
    assert (task.classes, task.multi_label) == (("ham", "spam", "maybe"), True)
    for part, split in task.splits():
        assert task.answers(split.ids) == {
            f"{part}-1": frozenset(["ham", "spam"]),
            f"{part}-2": frozenset(),
            f"{part}-4": frozenset(["maybe"]),
        }


def test_a_class_that_the_label_names_lack(mirror: Path) -> None:
    several_labels(mirror / "my-mail", [["ham"], ["spam", "scam"]])
    with pytest.raises(
        UserError, match=r"train\.parquet, row 2, column 'labels': 'scam' is not one of the label names"
    ):
        load_folder(mirror / "my-mail")


def test_real_tasks_with_several_labels_agree_with_their_own_counts(real_mirror: Path) -> None:
    several = [folder for folder in mirrored().values() if "label" not in columns(folder)]
    if not several:
        pytest.skip("no task with several labels per text on this machine")
    for folder in several:
        task = load_folder(folder)
        described = json.loads((folder / "labels.json").read_text())
        assert task.classes == tuple(described["label_names"])
        for part, split in task.splits():
            told = described["splits"][part]
            lists = pyarrow.parquet.read_table(folder / f"{part}.parquet")["labels"].to_pylist()
            assert [task.answer(label) for label in split.labels] == [*map(frozenset, lists)]
            sizes = [*map(len, lists)]  # a few lists of reuters90 repeat a name
            assert (len(split), sizes.count(0), sum(size > 1 for size in sizes)) == (
                told["rows"],
                told["none"],
                told["several"],
            )
            assert sum(sizes) / len(sizes) == pytest.approx(told["cardinality"], abs=0.001)


def test_the_real_mirror_agrees_with_its_own_counts(real_mirror: Path) -> None:
    one_label = [folder for folder in mirrored().values() if "label" in columns(folder)]
    assert one_label
    for folder in one_label:
        task = load_folder(folder)
        described = json.loads((folder / "labels.json").read_text())
        assert same_name(task.name) == same_name(folder.name)
        for part, split in task.splits():
            counted = Counter(task.classes[label] for label in split.labels)
            assert counted == {name: n for name, n in described["splits"][part]["class_counts"].items() if n}
