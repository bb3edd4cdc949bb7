"""A figure of a study with the words that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Words(NamedTuple):
    """What stands around a figure: a heading, one sentence on how to read it, and what it shows for those who
    do not see it."""

    heading: str
    reading: str
    alt: str


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
