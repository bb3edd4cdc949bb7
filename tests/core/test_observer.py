from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.core.observer import LoggingObserver
from hybridal.core.rounds import Cost, Round

FACT = Round(3, "finetune:3", "RRF", 1, Cost(), 1, None, None, None, {})


def test_progress_is_logged_once_a_line(caplog: pytest.LogCaptureFixture) -> None:
    observer = LoggingObserver()
    with caplog.at_level("INFO", logger="hybridal"):
        observer.message("Downloading bert from the hub")
        observer.texts_done("scoring", 64, 128)  # in the middle: only at DEBUG
        observer.texts_done("scoring", 128, 128)
        observer.round_started(3, 25, "finetune:3")
        observer.epoch_done(1, 3)
        observer.probe_fitted(1, 4)  # only at DEBUG, too
        observer.round_done([FACT])
        observer.waiting(2, 10, Path("to_label.csv"))
    assert [record.getMessage() for record in caplog.records] == [
        "Downloading bert from the hub",
        "scoring: 128 of 128 texts",
        "round 3 of 25: finetune:3",
        "epoch 1 of 3",
        "Round(3, finetune:3, 1 label)",
        "waiting for labels in to_label.csv: 2 of 10 are there",
    ]
