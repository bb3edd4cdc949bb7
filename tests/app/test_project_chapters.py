from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.app.project import chapter_folders, clear_scratch, count_rounds, read_chapters
from hybridal.core.rounds import Cost, Round
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task

TASK = toy_task(train=4, validation=2, test=0)


def chapter(path: Path, n: int) -> Path:
    """A run folder with n rounds."""
    folder = RunFolder.create(path, Settings("toys", schedule="fixed:2"), TASK, {})
    for t in range(1, n + 1):
        folder.append(Round(t, "retrain", "R" * t, 8 * t, Cost(), 1, 1.0, None, None, {}, (), ()))
    return path


def test_folders_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("1000", "002", "999", "001", ".003.x", "notes", "3d"):
        (tmp_path / name).mkdir()
    assert [path.name for path in chapter_folders(tmp_path)] == ["001", "002", "999", "1000"]
    assert chapter_folders(tmp_path / "nothing") == []


def test_chapters_are_listed_in_order(tmp_path: Path) -> None:
    found = read_chapters([chapter(tmp_path / "001", 2), chapter(tmp_path / "002", 3)])
    assert [(len(one.history), one.before, one.schedule.spec) for one in found] == [
        (2, 0, "fixed:2"),
        (3, 2, "fixed:2"),
    ]
    assert count_rounds(found) == 5


@pytest.mark.parametrize("file", ["run.json", "rounds.jsonl"])
def test_a_damaged_chapter_is_passed_over(tmp_path: Path, file: str) -> None:
    paths = [chapter(tmp_path / name, 2) for name in ("001", "002")]
    (paths[0] / file).write_text("{ no\n")
    assert [one.before for one in read_chapters(paths)] == [0]


def test_only_what_was_half_written_is_cleared(tmp_path: Path) -> None:
    for name in (".001.abc", "001"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    for name in (".model.x", ".other.y"):
        (tmp_path / name).touch()
    clear_scratch(tmp_path, "model")
    assert {path.name for path in tmp_path.iterdir()} == {".001.abc", "001", ".other.y"}
    clear_scratch(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"001"}
