"""One figure of a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    """A heading, one sentence on how to read the figure, and the figure itself."""

    title: str
    reading: str
    svg: str
