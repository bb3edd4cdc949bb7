"""What run.json says about a run, ready to be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def about_tables(about: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """What run.json says, as groups of names and values; what was not set is left out.

    >>> about_tables({"created": "2025-01-01", "settings": {"seed": 7, "text": None}, "task": {"classes": ["a", "b"]}})
    {'settings': [('seed', '7')], 'task': [('classes', 'a, b')], 'run': [('created', '2025-01-01')]}
    """
    groups = {name: _pairs(part) for name, part in about.items() if isinstance(part, Mapping)}
    loose = _pairs({name: part for name, part in about.items() if not isinstance(part, Mapping)})
    return {name: pairs for name, pairs in (*groups.items(), ("run", loose)) if pairs}


def task_name(about: Mapping[str, Any]) -> str:
    """What the task is called.

    >>> task_name({"task": {"name": "news"}}), task_name({})
    ('news', 'an unnamed task')
    """
    name = about.get("task", {}).get("name") or about.get("settings", {}).get("task") or "an unnamed task"
    return str(name)


def _pairs(part: Mapping[str, Any]) -> list[tuple[str, str]]:
    said = {name.replace("_", " "): _value(value) for name, value in part.items() if value is not None}
    return [(name, value) for name, value in said.items() if value]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_value(item)}" for name, item in value.items())
    return ", ".join(_value(item) for item in value) if isinstance(value, list | tuple) else str(value)
