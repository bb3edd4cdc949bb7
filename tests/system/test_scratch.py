from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hybridal.system.scratch import MIN_AGE, scratch


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def age(folder: Path) -> None:
    then = time.time() - MIN_AGE - 1
    os.utime(folder, (then, then))


def test_scratch_folder_is_removed_also_after_an_error(place: Path) -> None:
    with suppress(ZeroDivisionError), scratch() as folder:
        (folder / "inside").mkdir()
        raise ZeroDivisionError
    assert [*place.iterdir()] == []


def test_scratch_folder_works_without_file_locks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(fcntl, "flock", refuses)
    with scratch() as folder:
        age(folder)
        with scratch():
            assert folder.exists()


def killed() -> None:
    with scratch() as folder:
        (folder / "inside").mkdir()
        os.kill(os.getpid(), signal.SIGKILL)


def test_scratch_folder_of_a_killed_process_is_removed_by_the_next(place: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=killed)
    process.start()
    process.join(60)
    [left] = place.iterdir()
    with scratch():
        assert left.exists()  # as young as one that another process has just made
    age(left)
    with scratch():
        assert not left.exists()


def test_scratch_folder_in_use_is_kept_at_any_age(place: Path) -> None:
    with scratch() as folder:
        age(folder)
        with scratch() as other:
            assert folder.exists()
            assert folder != other


def test_other_files_with_the_prefix_are_kept(place: Path) -> None:
    elsewhere = place / "mine"
    elsewhere.mkdir()
    link, file = place / "hybridal-scratch-link", place / "hybridal-scratch-file"
    link.symlink_to(elsewhere)
    file.touch()
    age(elsewhere)
    age(file)
    with scratch():
        assert elsewhere.exists()
        assert link.is_symlink()
        assert file.exists()
