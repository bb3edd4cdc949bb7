"""A table: every cell holds its text and the exact fact behind it."""

from __future__ import annotations

from dataclasses import dataclass

from hybridal.core.facts import Round
from hybridal.evidence.formats import NONE, count, duration, score

# Heading, field of Metrics, what it means.
MEASURES = (
    ("Macro-F1", "f1", "mean F1 of all classes"),
    ("Accuracy", "accuracy", "share of right answers"),
    ("NLL", "nll", "negative log-likelihood: lower is better"),
    ("NLL scaled", "nll_scaled", "after temperature scaling"),
    ("ECE", "ece", "expected calibration error: lower is better"),
    ("ECE scaled", "ece_scaled", "after temperature scaling"),
)

ROUNDS_NOTE = "Measures are on validation unless they say otherwise; a dot marks a change below ε."


@dataclass(frozen=True)
class Cell:
    """What is shown, and the value that it was shortened from; `mark` is "best", "stable" or nothing."""

    text: str
    value: float | int | None = None
    mark: str = ""
    hint: str = ""
    token: str = ""


@dataclass(frozen=True)
class Heading:
    """What a column holds, and what that means; words are set to the left, numbers to the right."""

    title: str
    hint: str = ""
    words: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings; the first cell of a row names it."""

    headings: list[Heading]
    rows: list[list[Cell]]


def measured(value: float | None, digits: int = 3) -> Cell:
    return Cell(score(value, digits), value)


def number(value: int | None) -> Cell:
    return Cell(count(value), value)


def timed(seconds: float, fact: Round) -> Cell:
    return Cell(duration(seconds), seconds) if fact.seconds else Cell(NONE)
