from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from hybridal.errors import UserError
from hybridal.tasks.benchmarks import BENCHMARKS, Benchmark
from hybridal.tasks.hub_datasets import check_counts, load_hub

# How many items of each class the hub's own splits hold.
HUB: Mapping[str, Mapping[str, Sequence[int]]] = {
    "imdb": {"train": [12_500, 12_500], "test": [12_500, 12_500]},
    "jigsaw": {"train": [144_277, 15_294]},
    "sst2": {"train": [29_780, 37_569], "validation": [428, 444]},
    "tweeteval": {"train": [7_093, 20_673, 17_849], "validation": [312, 869, 819], "test": [3_972, 5_937, 2_375]},
    "agnews": {"train": [30_000] * 4, "test": [1_900] * 4},
    # Less than the hub has, but more than is sampled.
    "yahoo": {"train": [6_000] * 10, "test": [1_100] * 10},
}


class Part(dict[str, list[Any]]):
    @property
    def column_names(self) -> list[str]:
        return list(self)


class FakeHub:
    """Answers as `datasets.load_dataset` does, with made-up texts that say where they stand."""

    def __init__(self, benchmark: Benchmark, columns: Sequence[str] | None = None) -> None:
        self.benchmark = benchmark
        self.columns = columns or benchmark.fields
        self.asked: list[str] = []

    def __call__(self, hub: str, config: str | None, *, split: str, **options: object) -> Part:
        assert (hub, config) == (self.benchmark.hub, self.benchmark.config)
        assert options == ({"data_files": {"train": "train.csv"}} if hub.startswith("thesofakillers") else {})
        self.asked.append(split)
        counts = HUB[self.benchmark.name][split]
        labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts)).tolist()
        texts = {field: [f"{field} {split}-{row} {i}" for row, i in enumerate(labels, 1)] for field in self.columns}
        return Part({**texts, self.benchmark.label: labels})


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_have_the_papers_sizes(name: str) -> None:
    """From the hub's sizes, the split rules alone give every count of the paper's table."""
    benchmark = BENCHMARKS[name]
    hub = FakeHub(benchmark)
    task = load_hub(benchmark, load_dataset=hub)
    assert set(hub.asked) == set(HUB[name])
    for position, (_, split) in enumerate(task.splits()):
        found = np.bincount(split.labels).tolist()
        assert dict(zip(task.classes, found, strict=True)) == {n: c[position] for n, c in benchmark.counts.items()}
    assert len({id for _, split in task.splits() for id in split.ids}) == sum(len(s) for _, s in task.splits())
    for _, split in task.splits():
        for row in (0, len(split) - 1):
            pieces = [f"{field} {split.ids[row]} {split.labels[row]}" for field in benchmark.fields]
            assert split.texts[row] == benchmark.joint.join(pieces)


def test_the_seed_changes_drawn_tests_and_not_official_ones() -> None:
    def tests(name: str) -> set[tuple[str, ...]]:
        benchmark = BENCHMARKS[name]
        loads = [load_hub(benchmark, split_seed=seed, load_dataset=FakeHub(benchmark)) for seed in (42, 42, 43)]
        assert loads[0].fingerprint == loads[1].fingerprint != loads[2].fingerprint
        return {tuple(task.test.ids) for task in loads}

    assert len(tests("imdb")) == 2
    assert len(tests("sst2")) == 1


def test_titles_that_the_hub_has_joined_already() -> None:
    benchmark = BENCHMARKS["agnews"]
    task = load_hub(benchmark, load_dataset=FakeHub(benchmark, columns=["text"]))
    assert task.test.texts[0] == f"text test-1 {task.test.labels[0]}"


def test_a_class_that_differs_from_the_paper_is_named() -> None:
    benchmark = BENCHMARKS["sst2"]
    task = load_hub(benchmark, load_dataset=FakeHub(benchmark))
    shorter = replace(task, test=task.test.take(np.flatnonzero(task.test.labels == 1)))
    with pytest.raises(UserError, match="nyu-mll/glue: class 'negative' has 0 items in test and 428 in the paper"):
        check_counts(benchmark, shorter)
    less = replace(benchmark, counts={**benchmark.counts, "positive": (1, 2, 3)})
    with pytest.raises(UserError, match="class 'positive' has 37193 items in train and 1 in the paper"):
        load_hub(less, load_dataset=FakeHub(benchmark))


def test_a_label_that_is_hidden_or_new() -> None:
    def load(*_: object, **__: object) -> Part:
        return Part({"sentence": ["a", "b"], "label": [0, -1]})

    with pytest.raises(UserError, match="nyu-mll/glue, split 'train', row 2, column 'label': -1 is no class"):
        load_hub(BENCHMARKS["sst2"], load_dataset=load)


def test_unreachable_hub_is_reported() -> None:
    def load(*_: object, **__: object) -> Part:
        raise ConnectionError("no route to host\nlong story")

    with pytest.raises(UserError, match=r"\(no route to host\); check .* HYBRIDAL_DATA .* 'imdb'") as caught:
        load_hub(BENCHMARKS["imdb"], load_dataset=load)
    assert "long story" not in str(caught.value)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install 'hybridal\[hub\]'.* HYBRIDAL_DATA"):
        load_hub(BENCHMARKS["imdb"])


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return datasets


def test_the_real_package_on_a_folder_of_yahoos_shape(datasets: Any, tmp_path: Path) -> None:
    folder = tmp_path / "yahoo"
    folder.mkdir()
    for part, rows in (("train", 300), ("test", 50)):
        columns = {
            "id": list(range(rows)),
            "topic": [row % 10 for row in range(rows)],
            "question_title": [f"{part} title {row}" for row in range(rows)],
            "question_content": ["not used"] * rows,
            "best_answer": [None if row == 0 else f"answer {row}" for row in range(rows)],
        }
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"{part}.parquet")
    yahoo = BENCHMARKS["yahoo"]
    small = replace(yahoo, hub=str(folder), sample=200, test_sample=30, counts=dict.fromkeys(yahoo.classes, (0, 0, 0)))
    with pytest.raises(UserError, match="class 'Society & Culture' has 19 items in train and 0"):
        load_hub(small)
    # A hundredth of 200 is 2 rows, one of each of the first two classes.
    counts = {name: (19, 1, 3) if i < 2 else (20, 0, 3) for i, name in enumerate(yahoo.classes)}
    task = load_hub(replace(small, counts=counts))
    assert (len(task.train), len(task.validation), len(task.test)) == (198, 2, 30)
    for id, text in zip(task.train.ids, task.train.texts, strict=True):
        row = int(id.removeprefix("train-")) - 1
        assert text == f"train title {row} " + (f"answer {row}" if row else "")


def test_the_real_package_on_a_folder_of_jigsaws_shape(datasets: Any, tmp_path: Path) -> None:
    folder = tmp_path / "jigsaw"
    folder.mkdir()
    rows = "".join(f'{i:04x},"comment {i}",{i % 2},0\n' for i in range(100))
    (folder / "train.csv").write_text("id,comment_text,toxic,insult\n" + rows)
    (folder / "test_labels.csv").write_text("id,toxic\n1,-1\n")
    jigsaw = BENCHMARKS["jigsaw"]
    small = replace(jigsaw, hub=str(folder), counts={"non-toxic": (39, 1, 10), "toxic": (40, 0, 10)})
    task = load_hub(small)
    assert all(text == f"comment {int(id[6:]) - 1}" for id, text in zip(task.test.ids, task.test.texts, strict=True))
