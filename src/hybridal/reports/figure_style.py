"""The style of figures, and their export as inline SVG with themable colours or as files."""

from __future__ import annotations

import hashlib
import io
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hybridal.reports.display_names import STYLES
from hybridal.system.files import write_whole

# Width in inches of a figure that is as wide as a column; at that width the text has 9 points.
COLUMN = 4.2

# Colours that belong to no schedule, on a light and on a dark page.
INKS = {
    "ink": ("#1f2430", "#e7eaf0"),
    "muted": ("#5d6675", "#a3adbb"),
    "grid": ("#dfe3e9", "#343b47"),
    "surface": ("#ffffff", "#171b22"),
    "phase-train": ("#3b6fb6", "#6fa3ea"),
    "phase-validate": ("#86b3e3", "#b6d4f5"),
    "phase-score": ("#d99a2b", "#f0bf62"),
    "phase-select": ("#8c6bb1", "#bba1db"),
    "phase-signal": ("#2f9e83", "#5fcfb2"),
    "phase-test": ("#98a2b0", "#7d8896"),
}
INK, MUTED, GRID, SURFACE = (INKS[name][0] for name in ("ink", "muted", "grid", "surface"))
# File formats of figures.
FORMATS = ("svg", "png", "pdf")
_FAMILY = "font-family: var(--figure-font, 'DejaVu Sans', Verdana, sans-serif)"

# matplotlib's parameters are global to the process, and several threads of the app may write reports.
_LOCK = threading.RLock()


@contextmanager
def styled() -> Iterator[None]:
    """Use our style for figures made or saved within the block; matplotlib's parameters are restored afterwards."""
    with _LOCK, mpl.rc_context():
        mpl.rcParams.update(_parameters())
        yield


@cache
def _parameters() -> dict[Any, Any]:
    """Our style on top of matplotlib's defaults, to be independent of user styles. Reading the backend loads pyplot."""
    defaults = {name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")}
    own = mpl.rc_params_from_file(Path(__file__).parent / "templates" / "figures.mplstyle", use_default_template=False)
    return defaults | dict(own)


def new_figure(height: float, width: float = COLUMN) -> Figure:
    """Return an empty figure of this size in inches, with constrained layout."""
    return Figure(figsize=(width, height), layout="constrained")


def whole_rounds(axes: Axes, rounds: int) -> None:
    """Format the x axis for rounds: integers from the first to the last."""
    axes.set_xlim(0.5, max(rounds, 1) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("round")


def colours() -> dict[str, tuple[str, str]]:
    """Return every colour of figures by name, for light and dark pages."""
    return INKS | {style.token: (style.light, style.dark) for style in STYLES.values()}


@dataclass(frozen=True)
class Drawn:
    """A figure with its heading, a sentence on how to read it, and alternative text."""

    figure: Figure
    heading: str
    reading: str
    alt: str
    _svg: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def svg(self, name: str) -> str:
        """The figure as SVG, cached, because a report needs it for its page and for a file."""
        if name not in self._svg:
            self._svg[name] = to_svg(self.figure, self.alt, name)
        return self._svg[name]


def to_svg(figure: Figure, alt: str = "", name: str = "") -> str:
    """Return clean inline SVG; the same figure always gives the same text.

    `alt` is the alternative text. Ids start with `name`, or with a hash of the drawing:
    several figures can sit in one page. Every colour of the style is `var(--c-NAME, #hex)`, so that a page may
    give its own, e.g. in the dark.
    """
    root = ElementTree.fromstring(_saved(figure, format="svg", metadata={"Date": None}))
    name = name or "f" + hashlib.sha256(ElementTree.tostring(root)).hexdigest()[:8]
    for metadata in root.findall("{*}metadata"):
        root.remove(metadata)
    # This CSS rule would apply to the whole page; as an attribute of the figure it is inherited by its elements.
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


def _saved(figure: Figure, **options: Any) -> bytes:
    buffer = io.BytesIO()
    with styled():
        lay_out(figure)
        figure.savefig(buffer, **options)
    return buffer.getvalue()


def lay_out(figure: Figure) -> None:
    """Lay out a figure once, for SVG. Matplotlib would repeat the layout for every file and draw everything twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        FigureCanvasSVG(figure)
        figure.dpi = 72  # an SVG's, which a canvas of it asks for
        engine.execute(figure)
        figure.set_layout_engine(None)


def _tidy(element: ElementTree.Element) -> None:
    """Remove namespaces and whitespace, and replace colours with CSS variables."""
    element.tag = element.tag.partition("}")[2] or element.tag
    for key in list(element.attrib):
        if key.startswith("{"):
            element.set(key.partition("}")[2], element.attrib.pop(key))
    if "d" in element.attrib:
        element.set("d", " ".join(element.attrib["d"].split()))
    if "style" in element.attrib:
        style = re.sub(r"font-family: [^;]+", _FAMILY, element.attrib["style"])
        element.set("style", re.sub(r"#[0-9a-f]{6}\b", lambda found: _variables().get(found[0], found[0]), style))
    if element.tag != "text":
        element.text = None
    element.tail = None


def _rename(root: ElementTree.Element, name: str) -> None:
    """Rename the referenced ids in order of appearance, and drop all others."""
    pointer = re.compile(r"^(#|url\(#)(.+?)(\)?)$")
    used = {found[2] for element in root.iter() for value in element.attrib.values() if (found := pointer.match(value))}
    fresh: dict[str, str] = {}
    for element in root.iter():
        old = element.attrib.pop("id", None)
        if old in used:
            element.set("id", fresh.setdefault(str(old), f"{name}-{len(fresh)}"))
    for element in root.iter():
        for key, value in element.attrib.items():
            if found := pointer.match(value):
                element.set(key, f"{found[1]}{fresh[found[2]]}{found[3] or ''}")


@cache
def _variables() -> dict[str, str]:
    return {light: f"var(--c-{name}, {light})" for name, (light, _) in colours().items()}


def save(figures: Mapping[str, Drawn], folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write `NAME.FORMAT` for each figure and format atomically, and return the paths.

    Files contain no date: the same study gives the same bytes with the same version of matplotlib.
    """
    if figures:
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawn in figures.items():
        for format in formats:
            written.append(folder / f"{name}.{format}")
            write_whole(written[-1], file_content(drawn, format, name))
    return written


def file_content(drawn: Drawn, format: str, name: str) -> bytes:
    """Return a figure as the content of a file in one of the `FORMATS`."""
    if format == "svg":
        # A file has no page that defines the variables: replace each by its fallback.
        svg = re.sub(r"var\(--[a-z-]+, ([^()]*)\)", r"\1", drawn.svg(name))
        return (svg + "\n").encode()
    metadata = {"CreationDate": None} if format == "pdf" else {}
    return _saved(drawn.figure, format=format, dpi=300, facecolor="white", metadata=metadata)
