"""Do signals move together? Spearman's rank correlation over (run × round) observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics._numbers import Array, numbers
from hybridal.evidence.statistics._ranks import midranks
from hybridal.evidence.statistics._rounds import checked_changes


@dataclass(frozen=True)
class SignalCorrelation:
    """`rho[i][j]` belongs to signals i and j; None where one of them never changes, or below two observations.

    `n` rounds have a change of every signal; `left_out` have one of some signals only.
    """

    signals: tuple[str, ...]
    rho: tuple[tuple[float | None, ...], ...]
    n: int
    left_out: int

    def between(self, first: str, second: str) -> float | None:
        return self.rho[self.signals.index(first)][self.signals.index(second)]


def signal_correlation(histories: Sequence[Sequence[Round]], signals: Sequence[str]) -> SignalCorrelation:
    """Spearman's ρ of each two signals over all rounds of all runs in which all of them have a change.

    Rounds of one run are no independent draws, so there is no p value here.

    >>> from hybridal.core.facts import Cost
    >>> rows = [(None, None), (0.3, 5.0), (0.2, 9.0), (0.1, 7.0)]
    >>> run = [Round(t, "retrain", "R" * t, 0, Cost(), 1, None, None, None, {"loss": a, "cka": b}, (), ())
    ...        for t, (a, b) in enumerate(rows, start=1)]
    >>> found = signal_correlation([run], ["loss", "cka"])
    >>> found.n, found.between("loss", "cka")
    (3, -0.5)
    """
    rows: list[tuple[float | None, ...]] = []
    for history in histories:
        rows += zip(*(checked_changes(history, signal) for signal in signals), strict=True)
    full = [row for row in rows if None not in row]
    some = sum(any(change is not None for change in row) for row in rows)
    table = np.array(full, dtype=np.float64).reshape(len(full), len(signals))
    return SignalCorrelation(tuple(signals), spearman(table), len(full), some - len(full))


def spearman(table: Array) -> tuple[tuple[float | None, ...], ...]:
    """ρ between the columns of a table; a column that is constant has none, not even with itself.

    >>> spearman(np.array([[1.0, 4.0, 0.0], [2.0, 9.0, 0.0], [3.0, 25.0, 0.0]]))
    ((1.0, 1.0, None), (1.0, 1.0, None), (None, None, None))
    """
    if table.ndim != 2:
        raise UserError(f"A table of signals has rows and columns, not the shape {table.shape}.")
    columns = [midranks(numbers(column, f"column {at}")) for at, column in enumerate(table.T, start=1)]
    centred = [ranks - (ranks.size + 1) / 2 for ranks in columns]
    return tuple(tuple(_cosine(first, second) for second in centred) for first in centred)


def _cosine(first: Array, second: Array) -> float | None:
    """The correlation of centred ranks. Ranks are halves of whole numbers: sums are exact, and so are 1 and −1."""
    size = float((first**2).sum()) * float((second**2).sum())
    if size == 0:
        return None
    return float(np.clip(float((first * second).sum()) / np.sqrt(size), -1.0, 1.0))
