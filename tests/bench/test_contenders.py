from __future__ import annotations

import time
from typing import Any

import pytest

from bench.contenders import Turn, measured, peak_megabytes
from bench.job import Job, Rules, Texts


class Fake:
    def __init__(self, job: Job) -> None:
        self.job = job

    def round(self) -> Turn:
        time.sleep(0.02)
        return Turn({"train": 0.01, "query": 5.0}, scored=3, steps=2, chosen=[1])


def test_phases_and_rest_add_up_to_the_round() -> None:
    found: Any = measured(Fake, Job(Texts("t", [], [], [], [], []), "folder", Rules()))
    seconds = found["seconds"]
    parts = [seconds[part] for part in ("train", "validate", "score", "select", "signal", "rest")]
    assert sum(parts) == pytest.approx(seconds["round"])
    assert seconds["round"] >= 0.02
    assert (found["task"], found["scored"], found["steps"], found["chosen"]) == ("t", 3, 2, [1])


def test_memory_is_counted_in_megabytes() -> None:
    held = bytearray(200 * 2**20)
    assert len(held) / 2**20 < peak_megabytes() < 100_000
