"""One HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybridal.reports.report_table import Entry, Table


@dataclass(frozen=True)
class Panel:
    """A heading, one sentence on how to read the figure, and the figure itself."""

    title: str
    reading: str
    svg: str


@dataclass(frozen=True)
class Part:
    """A titled table of a page, with its caption as a note; a folded one opens on demand."""

    title: str
    table: Table
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """All that a report says, ready to be laid out."""

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
    """The page as HTML; every text is escaped, and only our own drawings are not."""
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
    """What run.json says, as groups of names and values; what was not set is left out."""
    groups = {name: _named(part) for name, part in about.items() if isinstance(part, Mapping)}
    loose = _named({name: part for name, part in about.items() if not isinstance(part, Mapping)})
    return {name: pairs for name, pairs in (*groups.items(), ("run", loose)) if pairs}


def task_name(about: Mapping[str, Any]) -> str:
    """What the task is called."""
    name = about.get("task", {}).get("name") or about.get("settings", {}).get("task") or "an unnamed task"
    return str(name)


def _named(part: Mapping[str, Any]) -> list[tuple[str, str]]:
    said = {name.replace("_", " "): _value(value) for name, value in part.items() if value is not None}
    return [(name, value) for name, value in said.items() if value]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_value(item)}" for name, item in value.items())
    return ", ".join(_value(item) for item in value) if isinstance(value, list | tuple) else str(value)
