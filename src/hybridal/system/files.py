"""Write files and folders atomically, and read and write strict JSON."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from numbers import Number
from pathlib import Path
from typing import Any, BinaryIO

from hybridal.errors import UserError, reason
from hybridal.system.exchange import exchange


def strict_json(data: Any, indent: int | None = None) -> str:
    """Return JSON without NaN and Infinity, which readers in all languages accept; NumPy's numbers become plain ones.

    >>> strict_json({"a": [1, None]})
    '{"a": [1, null]}'
    """
    return json.dumps(data, allow_nan=False, ensure_ascii=False, indent=indent, default=_plain_number)


def _plain_number(value: Any) -> Any:
    if isinstance(value, Number) and hasattr(value, "item"):  # without importing NumPy
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


def usable_path(path: str | Path) -> Path:
    r"""Return a path, and refuse a NUL character, with which the operating system raises a plain `ValueError`.

    >>> usable_path("a\0b")
    Traceback (most recent call last):
    hybridal.errors.UserError: The path 'a\x00b' contains a NUL character; name another.
    """
    if "\0" in str(path):
        raise UserError(f"The path '{path}' contains a NUL character; name another.")
    return Path(path)


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that contains an object.

    Args:
        path: The file.

    Returns:
        The object.

    Raises:
        UserError: If the file cannot be read, is not JSON, or contains something other than an object.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "config.json"
        >>> _ = path.write_text('{"model_type": "bert"}')
        >>> read_object(path)
        {'model_type': 'bert'}
    """
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: it is not valid JSON ({reason(error)}); copy or save it again.") from error
    if not isinstance(data, dict):
        raise UserError(f"{path} is damaged: it does not hold a JSON object; copy or save it again.")
    return data


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically: readers see the old content or the new one."""
    with file_made_whole(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def file_made_whole(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file, and rename it to `path` if the block succeeds."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            sync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and not error.filename:
            error.filename = str(path)  # an error of `write`, such as a full disk, has no file name
        raise
    sync_folder(path.parent)


@contextmanager
def folder_made_whole(target: Path, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder, and rename it to `target` if the block succeeds.

    With `replace`, an existing target is replaced once the new folder is complete and durable: in one step, or by two
    renames where the system cannot exchange folders. Otherwise an existing target is kept, and the new folder is
    discarded: another process was faster.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield scratch
        _finish_contents(scratch)
        os.chmod(scratch, 0o755)
        if not (replace and _is_folder(target) and exchange(scratch, target)):
            with _moved_aside(target) if replace else nullcontext():
                try:
                    os.rename(scratch, target)
                except OSError:
                    if not target.is_dir():
                        raise
        sync_folder(target.parent)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)  # what was replaced, or an incomplete folder


def _is_folder(target: Path) -> bool:
    return target.is_dir() and not target.is_symlink()


@contextmanager
def _moved_aside(target: Path) -> Iterator[None]:
    """Rename an existing folder and remove it after the block; if the block fails, restore its name."""
    if not target.exists():
        yield
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    os.rename(target, old)
    try:
        yield
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def remove_folder(target: Path) -> None:
    """Remove a folder if it exists. Rename it first, so that a half-deleted folder never looks complete."""
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        os.rename(target, old)
        shutil.rmtree(old)


def sync(descriptor: int) -> None:
    """Flush a file to disk."""
    os.fsync(descriptor)


def _finish_contents(folder: Path) -> None:
    """Flush all files to disk and make them readable for others; some libraries write files for the owner only."""
    for path in folder.rglob("*"):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
        if path.is_dir():
            sync_folder(path)
            continue
        descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a rename durable by flushing its folder; only POSIX supports this."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a path, or None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
