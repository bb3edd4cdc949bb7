"""Refuse model folders that refer to weights outside the folder or to code on a hub, which transformers would load."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybridal.errors import UserError


def check_references(folder: Path) -> None:
    """Refuse a folder that leads transformers to files or code elsewhere.

    Args:
        folder: An encoder or classifier as transformers saves it.

    Raises:
        UserError: An index names weights that are not directly in the folder, or `config.json` names a kernel of the
            hub as its implementation, which is code that transformers downloads and runs.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "model.safetensors.index.json").write_text('{"weight_map": {"w": "../x.safetensors"}}')
        >>> check_references(folder)
        Traceback (most recent call last):
        hybridal.errors.UserError: ...: its weights lie outside its folder, in '../x.safetensors'; ...
    """
    for index in sorted(folder.glob("*.index.json")):
        for name in sorted(map(str, _shards(index))):
            if name != Path(name).name:
                raise UserError(
                    f"{index}: its weights lie outside its folder, in '{name:.80}'; use a model that is whole."
                )
    config = folder / "config.json"
    for name, value in _settings(_read(config)) if config.is_file() else ():
        if name.endswith(("_implementation", "_implementation_internal")) and "/" in str(value):
            raise UserError(
                f"{config}: `{name:.40}` names code of a hub, '{value!s:.80}', which is not run; remove it."
            )


def _shards(index: Path) -> set[Any]:
    try:
        return {*_read(index)["weight_map"].values()}
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{index}: this index of weights has no 'weight_map'; copy the model again.") from error


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: broken JSON ({error}); copy the model again.") from error


def _settings(config: Any) -> Iterator[tuple[str, Any]]:
    """Yield all names with their values, including nested configurations."""
    for name, value in config.items() if isinstance(config, dict) else ():
        yield name, value
        yield from _settings(value)
