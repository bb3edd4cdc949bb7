"""Render a report as one self-contained HTML file: no network, scripts or fonts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybridal.reports.report_table import Entry, Table


@dataclass(frozen=True)
class Panel:
    """A figure with its heading and one sentence on how to read it."""

    title: str
    reading: str
    svg: str


@dataclass(frozen=True)
class Part:
    """A table with a title; its caption becomes a note. A folded one opens on click."""

    title: str
    table: Table
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """The content of a report page."""

    title: str
    kicker: str
    story: Sequence[str]
    cost: Sequence[str]
    tiles: Sequence[tuple[str, Entry, str]] = ()
    front: Sequence[Part] = ()
    panels: Sequence[Panel] = ()
    back: Sequence[Part] = ()
    back_title: str = "Rounds"
    about: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    token: str = "hybrid-accuracy"
    chosen: Sequence[tuple[int, Sequence[str]]] = ()


def render(page: Page) -> str:
    """Render the page as HTML. All text is escaped; only our own SVG is inserted as is."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from hybridal.reports.figure_style import colours

    environment = Environment(
        loader=PackageLoader("hybridal.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(page=page, colours=colours())


def about_tables(about: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The content of run.json as groups of names and values, without unset values."""
    groups = {name: _named(part) for name, part in about.items() if isinstance(part, Mapping)}
    loose = _named({name: part for name, part in about.items() if not isinstance(part, Mapping)})
    return {name: pairs for name, pairs in (*groups.items(), ("run", loose)) if pairs}


def task_name(about: Mapping[str, Any]) -> str:
    """The name of the task."""
    name = about.get("task", {}).get("name") or about.get("settings", {}).get("task") or "an unnamed task"
    return str(name)


def _named(part: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = {name.replace("_", " "): _value(value) for name, value in part.items() if value is not None}
    return [(name, value) for name, value in pairs.items() if value]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_value(item)}" for name, item in value.items())
    return ", ".join(_value(item) for item in value) if isinstance(value, list | tuple) else str(value)
