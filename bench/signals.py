"""Cost of each signal compared with the training of a round: round 1 of the paper's protocol, on real texts."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.contenders.ours import as_task
from bench.job import Job, Rules, load_jobs
from hybridal.runs.assemble import build_experiment, build_model
from hybridal.runs.settings import Settings
from hybridal.signals import SIGNALS, ModelView, Signal, Snapshot
from hybridal.updates import UPDATES

RULES = Rules(labelled=200, candidates=1000, validation=300, epochs=10)  # labels and epochs are those of the paper
REPEATS = 3


@dataclass
class Timed:
    """A signal that notes how long its snapshots take; each is taken several times."""

    signal: Signal
    seconds: list[float] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.signal, name)

    def snapshot(self, model: ModelView) -> Snapshot:
        for _ in range(REPEATS):
            start = time.perf_counter()
            found = self.signal.snapshot(model)
            self.seconds.append(time.perf_counter() - start)
        return found


def costs(job: Job) -> dict[str, Any]:
    """Seconds of a first round's training, and of a snapshot by each signal after it."""
    task = as_task(job)
    rules = {"initial": job.rules.labelled, "initial_draw": "proportional", "max_epochs": job.rules.epochs}
    settings = Settings(task.name, protocol="paper", backbone=job.backbone, overrides=rules, device="cpu")
    timed: Sequence[Any] = [Timed(SIGNALS.make(name)) for name in SIGNALS.names()]
    experiment = build_experiment(settings, task, build_model(settings, task, tuple(timed)), tuple(timed))
    state = experiment.start()
    _, record = experiment.learn(replace(state, pool=experiment.label(state.pool)), UPDATES.make("retrain"))
    return {"task": task.name, "train": record.seconds["train"], "signals": {one.name: one.seconds for one in timed}}


if __name__ == "__main__":
    (asked,) = load_jobs(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(json.dumps(costs(asked)), encoding="utf-8")
