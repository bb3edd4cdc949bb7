"""Estimates in sentences: what was found, with how much confidence, and the methods paragraph of a publication."""

from __future__ import annotations

from collections.abc import Callable

from hybridal.measures.shares.groups import NUMBER, By
from hybridal.measures.shares.share_table import FEWEST, Interval, Line, ShareTable
from hybridal.sentences import Sentence

MAX_LISTED = 5  # groups with too few random labels


def percent(share: float, digits: int = 1) -> str:
    """Write a share in percent.

    >>> percent(0.3125), percent(-0.02)
    ('31.2%', '−2.0%')
    """
    return f"{100 * share:.{digits}f}%".replace("-", "−")


def confidence_of(table: ShareTable) -> str:
    """Write the confidence of a table.

    >>> from hybridal.measures.shares.share_table import Basis
    >>> confidence_of(ShareTable((), (), 0.95, Basis(0, 0, 0)))
    '95%'
    """
    return f"{100 * table.confidence:.10g}%"


def points(difference: float) -> str:
    """Write a difference of shares in percentage points.

    >>> points(0.0312), points(-0.00004), points(0)
    ('+3.1', '−0.004', '0')
    """
    value = 100 * difference
    if value == 0:
        return "0"
    digits = 1 if abs(value) >= 0.1 else 3 if abs(value) >= 0.001 else 6
    return f"{value:+.{digits}f}".replace("-", "−")


def unit_of(table: ShareTable) -> str:
    """Return what a trend is per: a period, or one unit of a number.

    >>> from hybridal.measures.shares.share_table import Basis
    >>> unit_of(ShareTable((), (), 0.95, Basis(0, 0, 0), by="month:sent"))
    'month'
    """
    by = By.of(table.by)
    return by.column if by.unit == NUMBER else by.unit


def sentence(line: Line, table: ShareTable) -> str:
    """Describe one estimate in a sentence, with its confidence."""
    if line.estimate is None:
        return _missing(line)
    words = {"name": line.name, "group": line.group, "confidence": confidence_of(table)}
    if line.kind == "share":
        values = {**words, **_written(line.estimate, percent), "count": percent(line.count)}
        if line.group:
            return Sentence(
                "{group}: {name} in {value} of the texts, {low} to {high} with {confidence} confidence; the model "
                "alone counts {count}.",
                **values,
            )
        return Sentence(
            "{name}: {value} of the texts, {low} to {high} with {confidence} confidence; the model alone counts "
            "{count}.",
            **values,
        )
    values = {**words, **_written(line.estimate, points)}
    if line.kind == "trend":
        return Sentence(
            "{name}: {value} points per {unit}, {low} to {high} with {confidence} confidence.",
            unit=unit_of(table),
            **values,
        )
    if line.other and By.of(table.by).unit:
        return Sentence(
            "{name}: {value} points from {other} to {group}, {low} to {high} with {confidence} confidence.",
            other=line.other,
            **values,
        )
    if line.other:
        return Sentence(
            "{name}: {value} points in {group} compared with {other}, {low} to {high} with {confidence} confidence.",
            other=line.other,
            **values,
        )
    return Sentence(
        "{name}: {value} points in {group} compared with all other texts, {low} to {high} with {confidence} "
        "confidence.",
        **values,
    )


def missing_sentences(table: ShareTable) -> list[str]:
    """Say of each group with too few random labels how many it takes, or of all together if they are many."""
    found = {line.group: line for line in table.of("share") if line.estimate is None}
    if len(found) <= MAX_LISTED:
        return [_missing(line) for line in found.values()]
    return [
        Sentence.plural(
            "{n} group has fewer than {fewest} random labels, too few for an estimate; about {needed} more texts "
            "drawn at random bring them to each.",
            "{n} groups have fewer than {fewest} random labels, too few for an estimate; about {needed} more "
            "texts drawn at random bring them to each.",
            len(found),
            fewest=FEWEST,
            needed=f"{max(line.needed for line in found.values()):,}",
        )
    ]


def _missing(line: Line) -> str:
    values = {"group": line.group or line.name, "fewest": FEWEST, "needed": f"{line.needed:,}"}
    return Sentence.plural(
        "{group}: {n} random label is too few for an estimate, which takes {fewest}; about {needed} more texts drawn "
        "at random bring them.",
        "{group}: {n} random labels are too few for an estimate, which takes {fewest}; about {needed} more texts drawn "
        "at random bring them.",
        line.labels,
        **values,
    )


def _written(interval: Interval, shown: Callable[[float], str]) -> dict[str, str]:
    return {name: shown(getattr(interval, name)) for name in ("value", "low", "high")}


def plan_sentence(table: ShareTable, half_width: float) -> str:
    """Say how many more random labels a precision takes."""
    more, groups = table.more_labels(half_width), len(table.precision)
    values = {"points": f"{100 * half_width:.10g}", "confidence": confidence_of(table), "groups": f"{groups:,}"}
    if not more:
        return Sentence(
            "All shares are known to ±{points} points or better with {confidence} confidence already.", **values
        )
    if groups > 1:
        return Sentence.plural(
            "For ±{points} points in each of {groups} groups with {confidence} confidence you need about {n} more "
            "random label.",
            "For ±{points} points in each of {groups} groups with {confidence} confidence you need about {n} more "
            "random labels.",
            more,
            **values,
        )
    return Sentence.plural(
        "For ±{points} points with {confidence} confidence you need about {n} more random label.",
        "For ±{points} points with {confidence} confidence you need about {n} more random labels.",
        more,
        **values,
    )


def gain_sentence(table: ShareTable) -> str:
    """Say how much narrower the model makes the intervals of all texts; "" if there is none to compare."""
    pairs = [
        (line.estimate.half_width, line.alone.half_width)
        for line in table.of("share", "")
        if line.estimate is not None and line.alone is not None and line.alone.half_width > 0
    ]
    if not pairs:
        return ""
    factor = sum(powered / alone for powered, alone in pairs) / len(pairs)
    labels = round(table.basis.labels / factor**2) if factor > 0 else 0
    values = {"confidence": confidence_of(table), "factor": f"{factor:.2f}", "labels": f"{labels:,}"}
    if factor >= 0.995:  # written as 1.00 or more
        return Sentence(
            "With the model's predictions the {confidence} intervals are {factor} times as wide as from random labels "
            "alone: the model does not help.",
            **values,
        )
    if factor > 0.98:
        return Sentence(
            "With the model's predictions the {confidence} intervals are {factor} times as wide as from random labels "
            "alone: the model helps little.",
            **values,
        )
    return Sentence(
        "With the model's predictions the {confidence} intervals are {factor} times as wide as from random labels "
        "alone, as wide as about {labels} random labels would make them.",
        **values,
    )
