"""One HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hybridal.evidence.panel import Panel
from hybridal.evidence.table import Cell, Table


@dataclass(frozen=True)
class Section:
    """A titled table of a page; a folded one opens on demand."""

    title: str
    note: str
    table: Table
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """All that a report says, ready to be laid out."""

    title: str
    kicker: str
    story: Sequence[str]
    cost: Sequence[str]
    tiles: Sequence[tuple[str, Cell, str]] = ()
    front: Sequence[Section] = ()
    panels: Sequence[Panel] = ()
    back: Sequence[Section] = ()
    back_title: str = "Rounds"
    about: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    token: str = "hybrid-accuracy"
    chosen: Sequence[tuple[int, Sequence[str]]] = ()


def render(page: Page) -> str:
    """The page as HTML; every text is escaped, and only our own drawings are not.

    >>> html = render(Page("<script>", "", ["Nothing yet."], []))
    >>> "<script" in html, "<h1>&lt;script&gt;</h1>" in html
    (False, True)
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from hybridal.evidence.style import colours

    environment = Environment(
        loader=PackageLoader("hybridal.evidence", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(page=page, colours=colours())
