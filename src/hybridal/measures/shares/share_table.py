"""All estimates of a project: shares, of groups too, differences and trends, each next to the naive count."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures.shares.estimators import (
    Estimates,
    Target,
    count_of_answers,
    estimate,
    share_of,
    slope_on,
)
from hybridal.measures.shares.groups import Groups
from hybridal.measures.shares.labelled_texts import Flags, LabelledTexts
from hybridal.measures.shares.planning import Precision, more_labels
from hybridal.measures.shares.share_differences import difference

CONFIDENCE = 0.95
FEWEST = 10  # random labels from which a group is estimated
Kind = Literal["share", "difference", "trend"]
Progress = Callable[[int, int], None]


def no_progress(_done: int, _of: int) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Line:
    """One estimate, in three ways.

    Attributes:
        kind: "share", "difference" of two shares, or "trend": the change of a share per period or unit of a number.
        group: The texts that it is about; "" for all. For differences, those whose share is higher if it is positive.
        other: For differences, the group that is subtracted; "" for all other texts.
        name: The class.
        texts: How many texts these are.
        labels: How many random labels it rests on.
        count: What counting the model's answers gives, without any guarantee.
        alone: The estimate from random labels alone; None if there are fewer than `FEWEST`.
        estimate: That from random labels and the model's predictions; None if there are fewer than `FEWEST`.
        needed: How many more texts to draw at random until there are `FEWEST`, 0 if there are.
    """

    kind: Kind
    group: str
    other: str
    name: str
    texts: int
    labels: int
    count: float
    alone: Interval | None
    estimate: Interval | None
    needed: int = 0


@dataclass(frozen=True)
class Basis:
    """What the estimates rest on, for the methods paragraph.

    Attributes:
        texts: How many texts they are about.
        labels: How many random labels there are.
        draws: By how many draws.
        unanswered: How many texts were drawn and have no label.
        others: How many other texts people have labelled.
        crossed: How many random labels are compared with models that were fitted without them, since the model learnt
            them.
        model: The model in words.
        uncovered: How many texts no draw covers and no person labelled.
        picked: How many random labels people gave out of turn.
    """

    texts: int
    labels: int
    draws: int
    unanswered: int = 0
    others: int = 0
    crossed: int = 0
    model: str = ""
    uncovered: int = 0
    picked: int = 0


@dataclass(frozen=True)
class ShareTable:
    """The estimates of a project.

    Attributes:
        lines: All of them: shares of all texts first, then those of groups, differences and trends.
        classes: The classes that were asked for.
        confidence: The probability with which each interval contains the truth.
        basis: What they rest on.
        by: The spec of the column by which texts are divided; "" for none.
        groups: The names of the groups.
        without: How many texts have no value in the column; they are in no group.
        precision: How precise the least precise class of each group is, for planning.
        several: Whether a text may have several classes.
    """

    lines: tuple[Line, ...]
    classes: tuple[str, ...]
    confidence: float
    basis: Basis
    by: str = ""
    groups: tuple[str, ...] = ()
    without: int = 0
    precision: tuple[Precision, ...] = field(default=(), repr=False)
    several: bool = False

    def of(self, kind: Kind, group: str | None = None, name: str | None = None) -> list[Line]:
        """Return the lines of a kind, of one group ("" for all texts) and of one class if they are given."""
        return [
            line
            for line in self.lines
            if line.kind == kind and group in (None, line.group) and name in (None, line.name)
        ]

    def more_labels(self, half_width: float) -> int:
        """Return how many more texts to draw at random, so that each group's intervals are at most ± `half_width`.

        Raises:
            UserError: If `half_width` is no share.
        """
        more = more_labels(self.precision, half_width)
        inside = sum(group.texts for group in self.precision)  # texts without a value in the column are drawn too
        left = self.basis.texts - self.basis.labels
        return min(left, math.ceil(more * self.basis.texts / max(1, inside)))

    def to_json(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        found = asdict(self)
        del found["precision"]
        return found


def share_table(
    texts: LabelledTexts,
    classes: Sequence[str],
    basis: Basis,
    groups: Groups | None = None,
    asked: Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
    several: bool = False,
    progress: Progress = no_progress,
) -> ShareTable:
    """Estimate shares, and with groups their differences or their trend.

    Args:
        texts: Texts, labels and predictions.
        classes: The names of all classes.
        basis: What the estimates rest on.
        groups: Groups of the texts.
        asked: The classes to estimate; None for all.
        confidence: The probability with which each interval contains the truth.
        several: Whether a text may have several classes.
        progress: Receives how many of the groups are estimated.

    Returns:
        The table.

    Raises:
        UserError: If a class is unknown, or there are fewer than `FEWEST` random labels.
    """
    names = tuple(classes if asked is None else asked)
    for name in names:
        if name not in classes:
            raise UserError(f"There is no class '{name:.40}'; name one of {', '.join(classes[:20])}.", field="classes")
    labels = len(texts.random_rows)
    if labels < FEWEST:
        raise UserError(too_few(labels))
    columns = np.array([list(classes).index(name) for name in names], dtype=np.int64)
    few = _Estimator(texts.of_classes(columns), names, confidence)
    parts = [] if groups is None else [groups.rows(number) for number in range(len(groups.names))]
    steps = 1 + 2 * len(parts)
    lines = few.lines(few.both(share_of(np.ones(len(texts), dtype=bool))), "share")
    progress(1, steps)
    shares = []
    for number, rows in enumerate(parts):
        shares.append(few.both(share_of(rows)))
        lines += few.lines(shares[-1], "share", groups.names[number] if groups else "")
        progress(2 + number, steps)
    if groups is not None:
        lines += _differences(few, groups, parts, shares, lambda n: progress(1 + len(parts) + n, steps))
        if groups.along is not None:
            lines += few.lines(few.both(slope_on(groups.along)), "trend")
    progress(steps, steps)
    precision = tuple(few.precision(both) for both in shares or [few.both(share_of(np.ones(len(texts), dtype=bool)))])
    table = ShareTable(tuple(lines), names, confidence, basis, precision=precision, several=several)
    if groups is None:
        return table
    return replace(table, by=str(groups.by), groups=groups.names, without=groups.without)


def too_few(labels: int) -> str:
    """Say that there are too few random labels for any estimate."""
    there = {0: "There is no random label", 1: "There is 1 random label"}.get(
        labels, f"There are {labels} random labels"
    )
    return (
        f"{there}, and an estimate takes at least {FEWEST}: label texts that are drawn at random. Labels that a model "
        "has chosen, or that were brought along, say nothing about the other texts."
    )


def _differences(
    few: _Estimator, groups: Groups, parts: Sequence[Flags], shares: Sequence[_Both], progress: Callable[[int], None]
) -> list[Line]:
    """Compare the last period with the first one, or each group with all other texts."""
    if groups.along is not None:
        if not parts:
            return []
        enough = [number for number, both in enumerate(shares) if both.enough]
        if len(enough) < 2:
            return []
        first, last = enough[0], enough[-1]
        return few.lines(shares[last].minus(shares[first]), "difference", groups.names[last], groups.names[first])
    if len(parts) == 2:
        return few.lines(shares[0].minus(shares[1]), "difference", *groups.names)
    lines, anywhere = [], np.any(np.stack(parts), axis=0)
    for number, rows in enumerate(parts):
        others = few.both(share_of(anywhere & ~rows))
        lines += few.lines(shares[number].minus(others), "difference", groups.names[number])
        progress(number)
    return lines


@dataclass(frozen=True, eq=False)
class _Both:
    """An estimate with the model, without it, and the naive count."""

    powered: Estimates
    alone: Estimates
    count: Floats
    texts: int
    all_texts: int
    lowest: int  # random labels of the smaller group

    @property
    def enough(self) -> bool:
        return self.lowest >= FEWEST

    def minus(self, other: _Both) -> _Both:
        return _Both(
            difference(self.powered, other.powered),
            difference(self.alone, other.alone),
            self.count - other.count,
            self.texts + other.texts,
            self.all_texts,
            min(self.lowest, other.lowest),
        )


@dataclass(frozen=True, eq=False)
class _Estimator:
    texts: LabelledTexts
    names: Sequence[str]
    confidence: float

    def both(self, target: Target) -> _Both:
        powered, alone = (estimate(self.texts, target, self.confidence, powered=with_it) for with_it in (True, False))
        lowest = int(powered.labels.min())
        count = count_of_answers(self.texts, target)
        return _Both(powered, alone, count, int(target.rows.sum()), len(self.texts), lowest)

    def lines(self, both: _Both, kind: Kind, group: str = "", other: str = "") -> list[Line]:
        enough, missing = both.enough, FEWEST - both.lowest
        left = both.all_texts - len(self.texts.random_rows)
        needed = 0 if enough else min(left, math.ceil(missing * both.all_texts / max(1, both.texts)))
        return [
            Line(
                kind,
                group,
                other,
                name,
                both.texts,
                int(both.powered.labels[at]),
                float(both.count[at]),
                _interval(both.alone, at) if enough else None,
                _interval(both.powered, at) if enough else None,
                needed,
            )
            for at, name in enumerate(self.names)
        ]

    def precision(self, both: _Both) -> Precision:
        """The precision of the class with the widest interval."""
        widths = (both.powered.high - both.powered.low) / 2
        return Precision(float(np.nan_to_num(widths).max(initial=0.0)), both.lowest, both.texts)


def _interval(found: Estimates, at: int) -> Interval:
    return Interval(float(found.value[at]), float(found.low[at]), float(found.high[at]))
