"""Who looks on while a run goes: every method does nothing unless it is overridden."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybridal.core.facts import Round


class Observer:
    """Hears what happens in a run. Nothing that it does can change the run."""

    def message(self, text: str) -> None:
        """Something worth saying: a download, a wait."""

    def texts_done(self, what: str, done: int, of: int) -> None:
        """So many texts are tokenised or scored: `what` says which."""

    def round_started(self, round: int, of: int, update: str) -> None:
        """A round begins to train."""

    def epoch_done(self, epoch: int, of: int) -> None:
        """An epoch of training is done; early stopping may end the round before `of`."""

    def round_done(self, history: Sequence[Round]) -> None:
        """The facts of a round are complete and recorded."""

    def waiting(self, labelled: int, of: int, file: Path) -> None:
        """Labels are awaited in this file."""
