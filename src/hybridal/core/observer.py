"""Callbacks for the progress of a run; all do nothing by default."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from hybridal.core.rounds import Round

_log = logging.getLogger("hybridal")


class Observer:
    """Receives the progress of a run or a learner; all methods do nothing by default.

    Inherit, override what you need, and pass an instance as `observer`. The methods are called in the thread that
    trains, so they should return quickly. They cannot change the result of a run; an exception ends it.

    Example:
        >>> class Rounds(Observer):
        ...     def round_done(self, history: Sequence[Round]) -> None:
        ...         print(f"{len(history)} rounds, {history[-1].labels} labels")
        >>> from hybridal.testing import fake_history
        >>> Rounds().round_done(fake_history((), seed=1, rounds=3))
        3 rounds, 296 labels
    """

    def message(self, text: str) -> None:
        """Receive a message for the user, such as the start of a download.

        Args:
            text: One sentence.
        """

    def texts_done(self, what: str, done: int, of: int) -> None:
        """Receive the progress of a pass over many texts.

        Args:
            what: The kind of pass, such as "tokenised" or "scored".
            done: How many texts are done.
            of: How many texts there are.
        """

    def round_started(self, round: int, of: int | None, update: str) -> None:
        """Receive the start of a round: its labels are there, its training begins.

        Args:
            round: The number of the round, from 1.
            of: How many rounds there are; None if that is open, as in a learner.
            update: The spec of the update, such as `finetune:3`.
        """

    def epoch_done(self, epoch: int, of: int) -> None:
        """Receive the end of an epoch of training.

        Args:
            epoch: The number of the epoch, from 1.
            of: How many epochs there are at most; early stopping may end the training sooner.
        """

    def probe_fitted(self, fits: int, of: int) -> None:
        """Receive the progress of fitting a probe, which takes minutes with thousands of described classes.

        Args:
            fits: How many of its fits are done.
            of: How many fits there are.
        """

    def round_done(self, history: Sequence[Round]) -> None:
        """Receive the end of a round.

        Args:
            history: The records of all rounds so far, oldest first.
        """

    def waiting(self, labelled: int, of: int, file: Path) -> None:
        """Receive, about once a second, that the run waits for labels in a file.

        Args:
            labelled: How many of the chosen texts have a label.
            of: How many texts were chosen.
            file: The file to fill in.
        """


class LoggingObserver(Observer):
    """Logs progress to the logger "hybridal" at INFO; the default observer of the library.

    Its methods and their arguments are those of `Observer`.

    Example:
        >>> logging.basicConfig(level=logging.INFO)  # without this, Python does not show messages at INFO
        >>> LoggingObserver().epoch_done(1, of=3)
    """

    def message(self, text: str) -> None:
        """Log the message."""
        _log.info("%s", text)

    def texts_done(self, what: str, done: int, of: int) -> None:
        """Log a complete pass at INFO, its progress at DEBUG."""
        _log.log(logging.INFO if done == of else logging.DEBUG, "%s: %d of %d texts", what, done, of)

    def round_started(self, round: int, of: int | None, update: str) -> None:
        """Log the round and its update."""
        _log.info("round %d%s: %s", round, "" if of is None else f" of {of}", update)

    def epoch_done(self, epoch: int, of: int) -> None:
        """Log the epoch."""
        _log.info("epoch %d of %d", epoch, of)

    def probe_fitted(self, fits: int, of: int) -> None:
        """Log the fits at DEBUG."""
        _log.debug("fit %d of %d", fits, of)

    def round_done(self, history: Sequence[Round]) -> None:
        """Log the record of the last round in short."""
        _log.info("%r", history[-1])

    def waiting(self, labelled: int, of: int, file: Path) -> None:
        """Log how many labels are there."""
        _log.info("waiting for labels in %s: %d of %d are there", file, labelled, of)
