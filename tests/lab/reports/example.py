"""A small study with made-up round records, for tests of tables."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hybridal.core.rounds import Cost, Metrics, Round
from hybridal.lab.study.study import CellPlan, Study
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.lab.study.study_results import Results, results
from hybridal.reports.display_names import schedule_of
from hybridal.schedules import Schedule
from hybridal.system.files import strict_json
from hybridal.tasks.store import save_task
from hybridal.testing.small import toy_task

SPECS = ("retrain", "finetune", "hybrid:accuracy:0.01:2", "hybrid:alpha:0.0001:2", "fixed:3")
# How much a signal moves in round 2; it then calms down.
_SIGNALS = {"accuracy": 0.05, "alpha": 8e-4, "f1": 0.04, "loss": 0.03, "cka": 0.1, "nc": 9.0, "weight-distance": 3.0}
_made: dict[str, Results] = {}


def example(**factors: Any) -> Results:
    """The example as tables want it; each is made once a process and goes with it."""
    asked = repr(sorted(factors.items()))
    if asked not in _made:
        folder = made_up_study(Path(_place().name) / str(len(_made)), **factors)
        _made[asked] = results(folder)
    return _made[asked]


@cache
def _place() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hybridal-example-")


def made_up_study(path: Path, rounds: int = 8, skip: Sequence[tuple[str, int]] = (), **factors: Any) -> StudyFolder:
    """A complete study in `path`, but for the (task, seed) cells in `skip`."""
    asked: dict[str, Any] = {
        "name": "example",
        "tasks": ("imdb", "agnews"),
        "schedules": SPECS,
        "backbones": ("distilbert",),
        "seeds": (42, 43, 44),
        "protocol": "paper",
        **factors,
    }
    asked["overrides"] = {"batch": 4, **asked.get("overrides", {}), "rounds": rounds}
    folder = StudyFolder.create(path, Study(**asked), {"created": "2025-01-02T03:04:05+00:00"})
    for cell in folder.cells:
        home = folder.task_home(task_key(cell.settings))
        if not home.exists():
            save_task(toy_task(classes=2 + (cell.settings.task == "agnews")), home)
        if (cell.settings.task, cell.settings.seed) not in skip:
            _write(folder, cell)
    return folder


def _write(folder: StudyFolder, cell: CellPlan) -> None:
    records: dict[str, Round] = {}
    for spec in cell.schedules:
        _walk(cell, schedule_of(spec), records)
    folder.home(cell).mkdir(parents=True)
    lines = "".join(strict_json(record.to_json()) + "\n" for record in records.values())
    folder.journal(cell).path.write_text(lines, encoding="utf-8")


def _walk(cell: CellPlan, schedule: Schedule, records: dict[str, Round]) -> None:
    history: tuple[Round, ...] = ()
    while len(history) < cell.settings.rules.rounds:
        update = schedule.decide(history)
        sequence = (history[-1].update_sequence if history else "") + update.letter
        records.setdefault(sequence, _round(cell, sequence, update.spec, len(history) + 1))
        history = (*history, records[sequence])


def _round(cell: CellPlan, sequence: str, update: str, t: int) -> Round:
    """A function of the cell and its update sequence, as invariant 1 requires."""
    asked = cell.settings
    draw = random.Random(
        f"{asked.task} {asked.backbone} {asked.acquisition_spec} {cell.variant} {asked.seed} {sequence}"
    )
    luck = random.Random(f"{asked.task} {asked.seed}").gauss(0, 0.01)
    last = t == asked.rules.rounds
    worn = 0.05 * (len(sequence) - sequence.count("R"))
    quality = 0.82 + (0.07 if asked.task == "agnews" else 0.0) + luck + draw.gauss(0, 0.004) - 0.2 * 0.5**t
    labels, epochs = asked.rules.initial + asked.rules.batch * (t - 1), draw.randint(4, 6) if update == "retrain" else 3
    steps = epochs * -(-labels // asked.rules.train_batch)
    return Round(
        round=t,
        update=update,
        update_sequence=sequence,
        labels=labels,
        cost=Cost(steps, epochs * labels, epochs * labels * 20, epochs),
        kept_epoch=epochs - 2,
        temperature=1.0 + 3 * worn + draw.gauss(0, 0.02),
        validation=_metrics(quality + draw.gauss(0, 0.01), worn, 500),
        test=_metrics(quality, worn, 2000) if last else None,
        changes=_changes(draw, t, update != "retrain"),
        acquired=tuple(f"train-{row}" for row in draw.sample(range(120), asked.rules.batch)),
        scores=tuple(sorted((draw.uniform(0.4, 0.7) - worn for _ in range(asked.rules.batch)), reverse=True)),
        seconds={"train": steps * draw.uniform(0.09, 0.11), "validate": 0.2 * epochs, "score": 1.0},
    )


def _changes(draw: random.Random, t: int, tuned: bool) -> Mapping[str, float | None]:
    """Shrinking changes, which grow again when fine-tuning starts."""
    calm = max(0.35 ** (t - 2), 0.15 * tuned)
    return {name: None if t == 1 else size * calm * draw.uniform(0.3, 1.7) for name, size in _SIGNALS.items()}


def _metrics(accuracy: float, worn: float, n: int) -> Metrics:
    right = round(accuracy * n)
    nll = 0.1 + 1.7 * (1 - accuracy) + worn
    return Metrics(n, right, right / n, accuracy, nll, 0.03 + worn / 2, 1.4 * (1 - accuracy), nll - worn, 0.02)
