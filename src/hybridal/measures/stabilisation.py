"""Stabilisation: k changes in a row strictly below ε."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hybridal.errors import UserError


@dataclass(frozen=True)
class Stabilisation:
    """Detects k stable rounds in a row (Definition 1 of the paper), in runs and in `hybridal what-if`.

    A round is stable if its change is strictly below ε. Rounds count from 1; a round without a change (the first) is
    not stable.

    Attributes:
        epsilon: The threshold ε.
        patience: The number k of stable rounds in a row.

    Example:
        >>> detector = Stabilisation(epsilon=0.005, patience=2)
        >>> detector.t_star([None, 0.02, 0.004, 0.003, 0.001])
        4
        >>> detector.t_star([None, 0.004, 0.005, 0.004]) is None
        True
    """

    epsilon: float
    patience: int

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise UserError(f"`epsilon` must be a positive number, not {self.epsilon}.", field="epsilon")
        if not isinstance(self.patience, int):
            raise UserError(f"`patience` must be a whole number, not {self.patience}.", field="patience")
        if self.patience < 1:
            raise UserError(f"`patience` must be at least 1, not {self.patience}.", field="patience")

    def streaks(self, changes: Iterable[float | None]) -> list[int]:
        """Count stable rounds in a row.

        Args:
            changes: The changes of a signal, one per round; None where there is none.

        Returns:
            The length of the current streak after each round.
        """
        streaks, streak = [], 0
        for change in changes:
            streak = streak + 1 if change is not None and change < self.epsilon else 0
            streaks.append(streak)
        return streaks

    def t_star(self, changes: Iterable[float | None]) -> int | None:
        """Find the stabilisation round.

        Args:
            changes: The changes of a signal, one per round; None where there is none.

        Returns:
            The round that completes the first streak of `patience` stable rounds, or None.
        """
        for round, streak in enumerate(self.streaks(changes), start=1):
            if streak >= self.patience:
                return round
        return None
