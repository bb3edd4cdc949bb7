"""Who looks on while a run goes: every method does nothing unless it is overridden."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from hybridal.core.rounds import Round

_log = logging.getLogger("hybridal")


class Observer:
    """Hears what happens in a run. Nothing that it does can change the run."""

    def message(self, text: str) -> None:
        """Something worth saying: a download, a wait."""

    def texts_done(self, what: str, done: int, of: int) -> None:
        """So many texts are tokenised or scored: `what` says which."""

    def round_started(self, round: int, of: int | None, update: str) -> None:
        """A round begins to train; `of` is None where nothing says how many will follow, as in a learner."""

    def epoch_done(self, epoch: int, of: int) -> None:
        """An epoch of training is done; early stopping may end the round before `of`."""

    def round_done(self, history: Sequence[Round]) -> None:
        """The facts of a round are complete and recorded."""

    def waiting(self, labelled: int, of: int, file: Path) -> None:
        """Labels are awaited in this file."""


class LoggingObserver(Observer):
    """Reports progress to the logger "hybridal" at INFO: what the library uses unless another observer is given.

    >>> logging.basicConfig(level=logging.INFO)  # shows it; without, a library is silent
    """

    def message(self, text: str) -> None:
        _log.info("%s", text)

    def texts_done(self, what: str, done: int, of: int) -> None:
        _log.log(logging.INFO if done == of else logging.DEBUG, "%s: %d of %d texts", what, done, of)

    def round_started(self, round: int, of: int | None, update: str) -> None:
        _log.info("round %d%s: %s", round, "" if of is None else f" of {of}", update)

    def epoch_done(self, epoch: int, of: int) -> None:
        _log.info("epoch %d of %d", epoch, of)

    def round_done(self, history: Sequence[Round]) -> None:
        _log.info("%r", history[-1])

    def waiting(self, labelled: int, of: int, file: Path) -> None:
        _log.info("waiting for labels in %s: %d of %d are there", file, labelled, of)
