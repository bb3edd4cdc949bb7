"""Read and write `run.json` and `study.json`, which record the settings of a folder and the format it is written in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hybridal.errors import RunError, UserError
from hybridal.system.files import strict_json, write_whole

# Increase when records change so that older versions cannot read them.
FORMAT = 1


def write_about(file: Path, about: Mapping[str, Any]) -> None:
    """Write the file atomically, with the format number."""
    write_whole(file, strict_json({"format": FORMAT, **about}, indent=2) + "\n")


def read_about(file: Path, parts: Sequence[str]) -> dict[str, Any]:
    """Read what `write_about` wrote, without the format number.

    Args:
        file: The folder's `run.json` or `study.json`.
        parts: Names whose values must be objects.

    Raises:
        RunError: If the file is damaged.
        UserError: If the folder has another format.
    """
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for part in parts:
            if not isinstance(data[part], dict):
                raise ValueError(f"its {part} is not an object")
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(
            f"{file} is damaged ({error}); restore it from a backup, the other files of the folder are safe."
        ) from error
    written = data.pop("format", None)
    if written is None:
        raise UserError(f"{file.parent} was written by an unpublished version of hybridal; start a new {file.stem}.")
    if written != FORMAT:
        raise UserError(
            f"{file.parent} was written by a newer version of hybridal (format {written}); update hybridal."
        )
    return data
