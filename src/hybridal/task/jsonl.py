"""JSON Lines files: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.task.table import Table, column_position, decoded


def read_jsonl(path: Path, wanted: Sequence[str]) -> Table:
    """These keys of every line's object; a key that a line lacks gives None.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.jsonl"
    >>> _ = path.write_text('{"text": "Hello", "label": "ham"}\\n{"text": "You"}\\n')
    >>> read_jsonl(path, ["label"]).columns["label"]
    ['ham', None]
    """
    objects: list[dict[str, Any]] = []
    places: list[int] = []
    # Not splitlines(): a JSON string may hold U+2028 and its kin.
    for number, line in enumerate(decoded(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}, line {number}: broken JSON ({error}); write one object per line.") from error
        if not isinstance(value, dict):
            raise UserError(f'{path}, line {number}: not a JSON object; write one like {{"text": "..."}} per line.')
        objects.append(value)
        places.append(number)
    found = list(dict.fromkeys(key for value in objects for key in value))
    for name in wanted:
        column_position(path, name, found)
    return Table(path, {name: [value.get(name) for value in objects] for name in wanted}, "line", places)
