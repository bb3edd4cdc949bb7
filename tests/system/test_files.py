from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.system import files
from hybridal.system.exchange import exchange
from hybridal.system.files import file_made_whole, folder_made_whole, strict_json, write_whole

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def refuse_constant(text: str) -> None:
    raise AssertionError(f"{text} is not JSON")


@settings(deadline=None)
@given(JSON)
def test_json_line_survives_writing_and_reading(data: object) -> None:
    text = strict_json(data)
    assert "\n" not in text
    assert json.loads(text, parse_constant=refuse_constant) == data


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_nested_non_finite_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        strict_json({"a": [{"b": value}]})


@pytest.mark.parametrize("content", ["é\n", b"\xff\x00\r\n", ""])
def test_a_file_is_written_byte_for_byte(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_text("what was there before, and longer")
    write_whole(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_file_that_fails_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "old")

    def fail(*_arguments: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        if step == "write":
            real = os.fdopen

            def failing(handle: int, mode: str) -> object:
                file = real(handle, mode)
                file.write(b"ne")
                file.close()
                raise error

            patch.setattr(os, "fdopen", failing)
        else:
            patch.setattr(os, step, fail)
        with pytest.raises(type(error)):
            write_whole(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_is_durable_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def logged_fsync(descriptor: int) -> None:
        target = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        events.append("sync folder" if target == tmp_path else f"sync {target.read_text()}")
        fsync(descriptor)

    def logged_replace(old: str, new: Path) -> None:
        events.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(os, "replace", logged_replace)
    write_whole(tmp_path / "a", "content")
    assert events == ["sync content", "rename", "sync folder"]


def test_a_file_appears_when_it_is_full(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with file_made_whole(path) as file:
        file.write(b"one")
        file.flush()
        assert not path.exists()
        file.write(b" and two")
    assert path.read_bytes() == b"one and two"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt()])
def test_a_file_whose_writer_fails_leaves_the_old_one(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with file_made_whole(path) as file:
            file.write(b"ne")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_write_that_fails_names_the_file(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space left") as caught, file_made_whole(tmp_path / "a.txt"):
        raise full
    assert caught.value.filename == str(tmp_path / "a.txt")


def test_a_folder_appears_when_it_is_full(tmp_path: Path) -> None:
    target = tmp_path / "some" / "where"
    with folder_made_whole(target) as scratch:
        (scratch / "a").write_text("1")
        assert not target.exists()
        assert scratch.parent == target.parent
    assert (target / "a").read_text() == "1"
    assert target.stat().st_mode & 0o777 == 0o755
    assert os.listdir(target.parent) == ["where"]


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt()])
def test_a_folder_that_fails_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    def fill_half(folder: Path) -> None:
        (folder / "half").write_text("1")
        raise error

    with pytest.raises(type(error)), folder_made_whole(tmp_path / "a") as scratch:
        fill_half(scratch)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_for_others_to_read_too(tmp_path: Path) -> None:
    with folder_made_whole(tmp_path / "model") as folder:
        (folder / "parts").mkdir(0o700)
        (folder / "parts" / "weights").touch(0o600)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "model", *sorted((tmp_path / "model").rglob("*")))]
    assert modes == [0o755, 0o755, 0o644]


def test_the_first_of_two_folders_stays(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with folder_made_whole(target) as late:
        (late / "who").write_text("late")
        with folder_made_whole(target) as early:
            (early / "who").write_text("early")
    assert (target / "who").read_text() == "early"
    assert os.listdir(tmp_path) == ["a"]


def test_a_new_folder_takes_the_place_of_an_old_one(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.mkdir()
    (target / "old").touch()
    with folder_made_whole(target, replace=True) as folder:
        (folder / "new").touch()
        assert os.listdir(target) == ["old"]
    assert os.listdir(target) == ["new"]
    assert os.listdir(tmp_path) == ["a"]


REPLACE = """
import os
import sys
from pathlib import Path

from hybridal.system.files import folder_made_whole

last, seen = int(sys.argv[2]), 0
STEPS = ("tempfile.mkdtemp", "os.chmod", "os.rename", "ctypes.dlopen", "shutil.rmtree", "os.remove", "os.rmdir")

def die(event, arguments):
    global seen
    if event in STEPS:
        seen += 1
        if seen == last:
            os._exit(9)

sys.addaudithook(die)
with folder_made_whole(Path(sys.argv[1]), replace=True) as folder:
    (folder / "kind").write_text("new")
"""
"""Replaces a folder, and dies before the given one of its steps."""


def test_a_folder_is_there_wherever_its_replacement_is_killed(tmp_path: Path) -> None:
    target, other = tmp_path / "model", tmp_path / "other"
    target.mkdir()
    other.mkdir()
    if not exchange(target, other):
        pytest.skip("this system or file system cannot exchange folders")
    kinds = []
    for step in count(1):
        target.mkdir(exist_ok=True)
        (target / "kind").write_text("old")
        ended = subprocess.run([sys.executable, "-c", REPLACE, target, str(step)], check=False, timeout=60).returncode
        kinds.append((target / "kind").read_text())
        if ended == 0:
            break
    assert kinds == sorted(kinds, reverse=True)  # old, then new
    assert {*kinds[:-1]} == {"old", "new"}, "no step was killed after the exchange"


def test_an_old_folder_stays_until_the_new_one_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a"
    target.mkdir()
    (target / "old").touch()
    there: list[list[str]] = []
    fsync = os.fsync

    def logged(descriptor: int) -> None:
        there.append(os.listdir(target))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", logged)
    with folder_made_whole(target, replace=True) as folder:
        (folder / "new").touch()
    assert there[0] == ["old"]
    assert there[-1] == ["new"]  # the folder around it, when all is done


def test_an_old_folder_gets_its_name_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a"
    target.mkdir()
    (target / "old").touch()
    rename = os.rename
    monkeypatch.setattr(files, "exchange", lambda *_: False)  # as on a system without it

    def failing(source: Path, to: Path) -> None:
        if to == target and (source / "new").exists():
            raise OSError(errno.EIO, "the disk is gone")
        rename(source, to)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="the disk is gone"), folder_made_whole(target, replace=True) as folder:
        (folder / "new").touch()
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["a"]


def test_folder_name_taken_by_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file")
    with pytest.raises(NotADirectoryError), folder_made_whole(tmp_path / "a") as scratch:
        (scratch / "b").write_text("1")
    assert os.listdir(tmp_path) == ["a"]


def test_the_files_of_a_folder_are_durable_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, synced = tmp_path / "a", []
    fsync = os.fsync

    def logged(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_file():
            assert not target.exists()
            synced.append(path.name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", logged)
    with folder_made_whole(target) as scratch:
        (scratch / "one").write_text("1")
        (scratch / "inner").mkdir()
        (scratch / "inner" / "two").write_text("2")
    assert sorted(synced) == ["one", "two"]
