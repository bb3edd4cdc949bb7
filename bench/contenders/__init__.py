"""The contenders: each runs the same round in a separate process, so that its memory is measured separately."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from bench.job import Job, load_jobs

PHASES = ("train", "validate", "score", "select", "signal")


@dataclass(frozen=True)
class Turn:
    """What a round took: seconds per phase, the texts that were scored, the optimiser steps and the rows chosen."""

    seconds: Mapping[str, float]
    scored: int
    steps: int
    chosen: list[int]


class Contender(Protocol):
    """Made of a job, which is its set-up: texts are tokenised, once a run."""

    def round(self) -> Turn:
        """One round from the labels to the next texts to label, starting from the pretrained weights."""


def play(contender: Callable[[Job], Contender]) -> None:
    """`python -m bench.contenders.NAME JOBS ANSWER`: plays each job once, after a small one to warm up."""
    asked, answer = Path(sys.argv[1]), Path(sys.argv[2])
    jobs = load_jobs(asked.read_text(encoding="utf-8"))
    contender(jobs[0].small()).round()
    played = [measured(contender, job) for job in jobs]
    answer.write_text(json.dumps({"turns": played, "megabytes": peak_megabytes()}), encoding="utf-8")


def measured(contender: Callable[[Job], Contender], job: Job) -> dict[str, object]:
    """One job's turn with its seconds: `round` is the whole, `rest` what no phase accounts for."""
    start = time.perf_counter()
    ready = contender(job)
    begun = time.perf_counter()
    turn = ready.round()
    whole = time.perf_counter() - begun
    phases = {phase: turn.seconds.get(phase, 0.0) for phase in PHASES}
    seconds = {"set-up": begun - start, "round": whole, **phases, "rest": whole - sum(phases.values())}
    return {**asdict(turn), "task": job.texts.name, "seconds": seconds}


def peak_megabytes() -> float:
    """The peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
