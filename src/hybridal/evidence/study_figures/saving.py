"""Figures as files: for pages, for screens and for papers."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridal.errors import UserError
from hybridal.evidence.study_figures.drawn import Drawn
from hybridal.system.files import write_whole

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
    from hybridal.evidence.svg import to_svg

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
