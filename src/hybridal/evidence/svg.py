"""A figure as a piece of a page or as a file: text stays text, colours follow the page, ids are its own."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from hybridal.errors import UserError
from hybridal.system.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawn:
    """A figure and its words.

    >>> from matplotlib.figure import Figure
    >>> Drawn(Figure(), "Cost", "Lower is cheaper.", "Retrain took 5 steps.").heading
    'Cost'
    """

    figure: Figure
    heading: str
    reading: str
    alt: str


_FAMILY = "font-family: var(--figure-font, 'DejaVu Sans', Verdana, sans-serif)"


def to_svg(figure: Figure, alt: str = "", name: str = "") -> str:
    """Clean inline SVG; the same figure always gives the same text.

    `alt` says what is to be seen, for those who do not see it. Ids start with `name`, or with a hash of the drawing:
    several figures can sit in one page. Every colour of the style is `var(--c-NAME, #hex)`, so that a page may
    give its own, e.g. in the dark.

    >>> from hybridal.evidence.style import new_figure
    >>> from hybridal.evidence.style import styled
    >>> with styled():
    ...     figure = new_figure(1.0)
    ...     _ = figure.text(0.5, 0.5, "a < b")
    >>> svg = to_svg(figure, alt="A text.")
    >>> svg.startswith('<svg '), 'aria-label="A text."' in svg, 'a &lt; b</text>' in svg
    (True, True, True)
    """
    root = ElementTree.fromstring(_saved(figure))
    name = name or "f" + hashlib.sha256(ElementTree.tostring(root)).hexdigest()[:8]
    for metadata in root.findall("{*}metadata"):
        root.remove(metadata)
    # This rule would reach every element of the page; on the figure itself it is inherited by all that is in it.
    for parent in root.findall("{*}defs"):
        for rule in parent.findall("{*}style"):
            parent.remove(rule)
    for element in root.iter():
        _tidy(element)
    _rename(root, name)
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "role": "img",
        "aria-label": alt,
        "viewBox": root.attrib["viewBox"],
        "width": root.attrib["width"],
        "height": root.attrib["height"],
        "style": "stroke-linejoin: round; stroke-linecap: butt",
    }
    return ElementTree.tostring(root, encoding="unicode")


def _saved(figure: Figure) -> bytes:
    from hybridal.evidence.style import styled

    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _tidy(element: ElementTree.Element) -> None:
    """Without namespaces and blanks, and with colours that a page can change."""
    element.tag = element.tag.partition("}")[2] or element.tag
    for key in list(element.attrib):
        if key.startswith("{"):
            element.set(key.partition("}")[2], element.attrib.pop(key))
    if "d" in element.attrib:
        element.set("d", " ".join(element.attrib["d"].split()))
    if "style" in element.attrib:
        style = re.sub(r"font-family: [^;]+", _FAMILY, element.attrib["style"])
        element.set("style", re.sub(r"#[0-9a-f]{6}\b", lambda found: _variable(found[0]), style))
    if element.tag != "text":
        element.text = None
    element.tail = None


def _rename(root: ElementTree.Element, name: str) -> None:
    """Keeps the ids that are referred to, in order of appearance, and drops all others."""
    pointed = re.compile(r"^#(.+)$|^url\(#(.+)\)$")
    used = {
        next(part for part in match.groups() if part)
        for element in root.iter()
        for value in element.attrib.values()
        if (match := pointed.match(value))
    }
    fresh: dict[str, str] = {}
    for element in root.iter():
        old = element.attrib.pop("id", None)
        if old in used:
            element.set("id", fresh.setdefault(str(old), f"{name}-{len(fresh)}"))
    for element in root.iter():
        for key, value in element.attrib.items():
            if match := pointed.match(value):
                element.set(key, f"#{fresh[match[1]]}" if match[1] else f"url(#{fresh[match[2]]})")


@cache
def _names() -> dict[str, str]:
    from hybridal.evidence.style import colours

    return {light: name for name, (light, _) in colours().items()}


def _variable(colour: str) -> str:
    return f"var(--c-{_names()[colour]}, {colour})" if colour in _names() else colour


FORMATS = ("svg", "png", "pdf")


def save(figures: Mapping[str, Drawn], folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes `NAME.FORMAT` for each figure and format, each file whole or not at all, and gives their paths.

    No file holds a date: the same study gives the same bytes, as long as matplotlib is the same.

    >>> save({}, Path("nowhere"), formats=("gif",))
    Traceback (most recent call last):
    hybridal.errors.UserError: Figures are not written as 'gif'; there are svg, png, pdf.
    """
    for format in formats:
        if format not in FORMATS:
            raise UserError(f"Figures are not written as '{format}'; there are {', '.join(FORMATS)}.")
    if figures:
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawn in figures.items():
        for format in formats:
            path = folder / f"{name}.{format}"
            write_whole(path, content(drawn, format, name))
            written.append(path)
    return written


def content(drawn: Drawn, format: str, name: str = "") -> bytes:
    """A figure as one file's bytes."""

    if format == "svg":
        return (standalone(to_svg(drawn.figure, drawn.alt, name)) + "\n").encode()
    import matplotlib as mpl

    from hybridal.evidence.style import styled

    buffer = io.BytesIO()
    # Publishers ask for TrueType fonts; matplotlib's own default for PDF is Type 3.
    with styled(), mpl.rc_context({"pdf.fonttype": 42}):
        metadata = {"CreationDate": None} if format == "pdf" else {}
        drawn.figure.savefig(buffer, format=format, dpi=300, facecolor="white", metadata=metadata)
    return buffer.getvalue()


def standalone(svg: str) -> str:
    """The SVG of a page as one of its own: with its colours and fonts, where there is no page to give them.

    >>> standalone('<path style="fill: var(--c-ink, #1f2430); font-family: var(--figure-font, Verdana, serif)"/>')
    '<path style="fill: #1f2430; font-family: Verdana, serif"/>'
    """
    return re.sub(r"var\(--[a-z-]+, ([^()]*)\)", r"\1", svg)
