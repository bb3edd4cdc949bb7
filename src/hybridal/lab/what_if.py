"""Decide what a hybrid schedule would have done, from recorded values of its signal."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from hybridal.core.rounds import MultiLabelMetrics
from hybridal.errors import UserError
from hybridal.runs.record import RunFolder
from hybridal.schedules.hybrid import HybridAL
from hybridal.signals import Signal

# Up to this many texts, two different shares are two different floats.
MAX_TEXTS = 1_000_000


def decisions(
    source: Path,
    column: str | None,
    signal: str,
    epsilon: float | None = None,
    patience: int | None = None,
    count: int | None = None,
) -> dict[str, Any]:
    """Return t* and the first fine-tuning round, both None if the schedule never switches.

    Args:
        source: A run folder, or a CSV or JSONL file with one row per round.
        column: The column of a file with the signal's value after each round. For a signal that is a level, it holds
            the change, and the first row is ignored.
        signal: The signal that decides.
        epsilon: Threshold; by default that of the signal.
        patience: Stable rounds needed; by default that of the signal.
        count: Number of texts that the accuracies of a file were measured on, if they are rounded.

    Returns:
        A mapping with the decision, the changes, and the length of the stable streak in each round.

    Raises:
        UserError: If the source cannot be read or does not hold the signal.
    """
    schedule = HybridAL(signal, epsilon, patience)
    if count is not None and schedule.signal.name != "accuracy":
        raise UserError(
            f"`count` is of texts that accuracies were measured on; leave it out for '{signal}'.", field="count"
        )
    if count is not None and count < 1:
        raise UserError(f"`count` must be at least 1, not {count}.", field="count")
    if not source.exists():
        raise UserError(f"There is no file {source}.")
    if source.is_dir():
        if column is not None or count is not None:
            raise UserError(
                f"`column` and `count` are for files; {source} is a folder, which knows both: leave them out.",
                field="count" if column is None else "column",
            )
        changes = _recorded(source, schedule.signal.name)
    else:
        if column is None:
            raise UserError(f"`column` is missing: name the column of {source} that holds the values.", field="column")
        values = read_column(source, column, skip_first=schedule.signal.is_level)
        changes = changes_of(values, schedule.signal, count)
    t_star = schedule.rule.detector.t_star(changes)
    return {
        "signal": schedule.signal.name,
        "epsilon": schedule.epsilon,
        "patience": schedule.patience,
        "rounds": len(changes),
        "t_star": t_star,
        "first_finetune_round": None if t_star is None else t_star + 1,
        "changes": changes,
        "stable": schedule.rule.detector.streaks(changes),
    }


def changes_of(values: Sequence[float], signal: Signal, count: int | None = None) -> list[float | None]:
    """Return the change of each round; for accuracies, exact differences of shares.

    `count` is the number of texts; only rounded accuracies need it.

    >>> from hybridal.signals.accuracy import Accuracy
    >>> changes_of([950 / 1200, 956 / 1200], Accuracy()), 956 / 1200 - 950 / 1200
    ([None, 0.005], 0.0050000000000000044)
    >>> changes_of([0.8033, 0.8082], Accuracy(), count=1200)
    [None, 0.005]
    """
    if signal.is_level:
        return [None, *values[1:]]
    if signal.name != "accuracy":
        return [None, *(abs(now - before) for before, now in pairwise(values))]
    return _exact_changes(
        [_share(value) if count is None else Fraction(round(value * count), count) for value in values]
    )


def _share(value: float) -> Fraction:
    """The only share of at most `MAX_TEXTS` texts that prints as this number; else the decimal itself."""
    simple = Fraction(value).limit_denominator(MAX_TEXTS)
    return simple if float(simple) == value else Fraction(repr(value))


def _exact_changes(shares: Sequence[Fraction]) -> list[float | None]:
    return [None, *(float(abs(now - before)) for before, now in pairwise(shares))]


def read_column(path: Path, column: str, skip_first: bool = False) -> list[float]:
    """Return the numbers of one column of a CSV or JSONL file, in the order of the rounds.

    With `skip_first` the first is 0, because no round came before it.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix.lower() in (".jsonl", ".ndjson"):
                rows: list[Any] = [json.loads(line) for line in file if line.strip()]
            else:
                rows = list(csv.DictReader(file))
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except (ValueError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV or JSONL: {error}.") from error
    if not rows:
        raise UserError(f"{path} has no rounds.")
    numbers = [_number(path, number, row, column) for number, row in enumerate(rows, start=1) if number > skip_first]
    return [0.0, *numbers] if skip_first else numbers


def _number(path: Path, round: int, row: Any, column: str) -> float:
    if not isinstance(row, dict) or column not in row:
        there = ", ".join(filter(None, row)) if isinstance(row, dict) else "no columns"
        raise UserError(f"{path} has no column '{column}' in round {round}; it has {there}.")
    try:
        value = float(row[column])
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{path}: '{row[column]!s:.40}' in column '{column}', round {round}, is not a number.")
    return value


def _recorded(source: Path, signal: str) -> list[float | None]:
    folder = RunFolder.open(source)
    if "schedules" in folder.about():
        raise UserError(f"{source} compares several schedules; name a run, or a file with one value a round.")
    history = folder.history()
    if not history:
        raise UserError(f"{source} has no recorded rounds yet.")
    if signal in history[0].changes:
        return [record.changes[signal] for record in history]
    measured = [record.validation for record in history if record.validation is not None]
    # With several labels per text, the signal counts decisions, and a record has exact matches.
    several = any(isinstance(metrics, MultiLabelMetrics) for metrics in measured)
    if signal == "accuracy" and not several and len(measured) == len(history):
        return _exact_changes([Fraction(metrics.right, metrics.n) for metrics in measured])
    known = ", ".join(history[0].changes) or "none"
    raise UserError(
        f"{source} did not record the signal '{signal}' (it has {known}); run with `signals={signal}`.", field="signal"
    )
