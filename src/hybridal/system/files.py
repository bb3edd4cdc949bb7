"""Writing files so that they are whole or not there, and reading JSON that is strict."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from hybridal.errors import UserError, reason


def strict_json(data: Any, indent: int | None = None) -> str:
    """JSON without NaN and Infinity: a reader in any language can take it.

    >>> strict_json({"a": [1, None]})
    '{"a": [1, null]}'
    """
    return json.dumps(data, allow_nan=False, ensure_ascii=False, indent=indent)


def read_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds.

    Args:
        path: The file.

    Returns:
        Its names and values.

    Raises:
        UserError: It cannot be read, is not JSON, or holds something other than an object.

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
    """Writes beside and renames, so that a reader sees the old file or the new one and never half of it."""
    with file_made_whole(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def file_made_whole(path: Path) -> Iterator[BinaryIO]:
    """Gives a file beside to fill, and renames it to `path` when the block ends without an error."""
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
            error.filename = str(path)  # a full disk is told by a write, which knows no name
        raise
    sync_folder(path.parent)


@contextmanager
def folder_made_whole(target: Path, replace: bool = False) -> Iterator[Path]:
    """Gives an empty folder to fill, and renames it to `target` when the block ends without an error.

    With `replace` it takes the place of the folder that may be there, which stays until the new one is complete and
    durable. Otherwise whoever comes second finds the first one's folder and throws its own away.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield scratch
        _finish_contents(scratch)
        os.chmod(scratch, 0o755)
        with _moved_aside(target) if replace else nullcontext():
            try:
                os.rename(scratch, target)
            except OSError:
                if not target.is_dir():
                    raise
        sync_folder(target.parent)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _moved_aside(target: Path) -> Iterator[None]:
    """Renames a folder, if it is there, and removes it after the block; if the block fails, it gets its name back."""
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
    """Removes a folder, if it is there; it is renamed first: one that is half deleted must never look whole."""
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        os.rename(target, old)
        shutil.rmtree(old)


def sync(descriptor: int) -> None:
    os.fsync(descriptor)


def _finish_contents(folder: Path) -> None:
    """Makes all durable, and readable for others: some libraries write for the owner alone."""
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
    """A rename is durable only when its folder is; only POSIX lets folders be opened for that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file or folder of the disk is at this path; None: there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
