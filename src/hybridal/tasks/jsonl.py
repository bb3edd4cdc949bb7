"""JSON Lines files: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.tasks.table import CHUNK, FileTable, column_position, opened


def read_jsonl(path: Path, wanted: Sequence[str]) -> Iterator[FileTable]:
    """These keys of every line's object; a key that a line lacks gives None.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.jsonl"
    >>> _ = path.write_text('{"text": "Hello", "label": "ham"}\\n{"text": "You"}\\n')
    >>> [table.columns["label"] for table in read_jsonl(path, ["label"])]
    [['ham', None]]
    """
    found: dict[str, None] = {}
    places: list[int] = []
    objects: list[dict[str, Any]] = []

    def table() -> FileTable:
        return FileTable(path, {name: [value.get(name) for value in objects] for name in wanted}, "line", places)

    for place, value in _objects(path):
        found |= dict.fromkeys(value)
        places.append(place)
        objects.append(value)
        # A key may come late; until all have come, it is not known that none is misspelt.
        if len(places) >= CHUNK and found.keys() >= set(wanted):
            yield table()
            places, objects = [], []
    for name in wanted:
        column_position(path, name, list(found))
    if places:
        yield table()


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's object with the number of the line."""
    # Lines end at line feeds alone: a JSON string may hold U+2028 and its kin.
    with opened(path, newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}, line {number}: broken JSON ({error}); write one object per line.") from error
            if not isinstance(value, dict):
                raise UserError(f'{path}, line {number}: not a JSON object; write one like {{"text": "..."}} per line.')
            yield number, value
