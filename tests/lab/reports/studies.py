"""Made-up studies on disk, with round records like those of real ones."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hybridal.core.rounds import Cost, Metrics, Round
from hybridal.lab.study.study import CellPlan, Study
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.schedules import Schedule, make_schedule

CLASSES = {"imdb": 2, "sst2": 2, "jigsaw": 2, "tweeteval": 3, "agnews": 4, "yahoo": 10}
VALIDATION = {"imdb": 500, "sst2": 674, "jigsaw": 1596, "tweeteval": 477, "agnews": 1200, "yahoo": 500}
# End F1, NLL of Retrain and rounds until two thirds are learnt.
TASKS = {
    "imdb": (0.84, 0.42, 4.0),
    "sst2": (0.87, 0.36, 3.0),
    "jigsaw": (0.88, 0.14, 2.5),
    "tweeteval": (0.64, 0.80, 5.0),
    "agnews": (0.90, 0.31, 2.0),
    "yahoo": (0.67, 1.08, 6.0),
}
SECONDS_A_STEP = {"distilbert": 0.012, "bert": 0.024, "roberta": 0.026}
GAIN = {"distilbert": 0.0, "bert": 0.008, "roberta": 0.028}
SIGNALS = {"accuracy": 0.026, "f1": 0.0245, "loss": 0.016, "alpha": 2.9e-4, "cka": 0.078, "nc": 8.9,
           "weight-distance": 1.55, "gradient-norm": 4.56}  # fmt: skip

Change = Callable[[Round], Round]


def write_study(path: Path, study: Study, edit: Change = lambda round_record: round_record) -> StudyFolder:
    """A study folder with every round that its schedules need; `edit` may change each record."""
    folder = StudyFolder.create(path, study, {"created": "2026-01-02T03:04:05+00:00"})
    for cell in folder.cells:
        write_task(folder, cell)
        write_cell(folder, cell, cell.schedules, edit)
    return folder


def write_task(folder: StudyFolder, cell: CellPlan) -> None:
    """What a figure needs to know of a task: its classes."""
    home = folder.task_home(task_key(cell.settings))
    home.mkdir(parents=True, exist_ok=True)
    names = [f"class {n}" for n in range(CLASSES.get(cell.settings.task, 2))]
    (home / "task.json").write_text(json.dumps({"name": cell.settings.task, "classes": names}))


def write_cell(
    folder: StudyFolder, cell: CellPlan, specs: Sequence[str], edit: Change = lambda round_record: round_record
) -> None:
    """Write the round records of some schedules of a cell, each update sequence once."""
    round_records: dict[str, Round] = {}
    for spec in specs:
        schedule, history = make_schedule(spec), list[Round]()
        while len(history) < cell.settings.rules.rounds:
            sequence = (history[-1].update_sequence if history else "") + schedule.decide(history).letter
            if sequence not in round_records:
                round_records[sequence] = made_up_round(cell, history, schedule)
            history.append(round_records[sequence])
    folder.home(cell).mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(edit(round_record).to_json()) + "\n" for round_record in round_records.values()]
    (folder.home(cell) / "rounds.jsonl").write_text("".join(lines))


def made_up_round(cell: CellPlan, history: Sequence[Round], schedule: Schedule) -> Round:
    """The next round: a function of the cell and the update sequence."""
    asked, rules = cell.settings, cell.settings.rules
    t = len(history) + 1
    update = schedule.decide(history)
    sequence = (history[-1].update_sequence if history else "") + update.letter
    draw = random.Random(f"{asked.task}/{asked.backbone}/{asked.seed}/{cell.variant}/{sequence}")
    luck = random.Random(f"{asked.task}/{asked.backbone}/{asked.seed}")
    best, ease, slow = TASKS.get(asked.task, (0.8, 0.5, 3.0))
    best += GAIN.get(asked.backbone, 0.0) + luck.gauss(0, 0.008) - 0.015 * (rules.candidates in (100, 500))
    n = VALIDATION.get(asked.task, 800)
    worn = t - sequence.count("R") - sequence.count("N")
    learnt = 1 - 0.62 * math.exp(-t / (slow * (2.2 if update.name == "newonly" else 1)))
    f1 = best * learnt - (0.022 if update.name == "newonly" else 0) + draw.gauss(0, 0.35 / math.sqrt(n))
    right = min(n, round(n * (f1 + 0.01)))
    nll = ease * (1 + 1.3 * math.exp(-t / slow) + draw.gauss(0, 0.03))
    nll *= 1 + 0.5 * (1 - math.exp(-worn / 7))
    nll *= 1 + 1.1 * math.exp(-t / 6) if update.name == "newonly" else 1
    labels = rules.initial + rules.batch * (t - 1)
    epochs = max(2, round(draw.gauss({"retrain": 5.5, "newonly": 4.0}.get(update.name, 3.4), 0.6)))
    used = rules.batch if update.name == "newonly" and t > 1 else labels
    steps = epochs * math.ceil(used / rules.train_batch)
    now = _metrics(n, right, f1, nll)
    second = SECONDS_A_STEP.get(asked.backbone, 0.01) * draw.uniform(0.9, 1.1)
    return Round(
        round=t,
        update=update.spec,
        update_sequence=sequence,
        labels=labels,
        cost=Cost(steps, epochs * used, epochs * used * 60, epochs),
        kept_epoch=epochs - 1,
        temperature=1.2 + 0.1 * worn,
        validation=now,
        test=_metrics(4 * n, 4 * right, f1 - 0.004 + draw.gauss(0, 0.004), 1.03 * nll) if t == rules.rounds else None,
        changes=_changes(history, now, draw, t, slow),
        acquired=(f"text-{t}",) if t < rules.rounds else (),
        scores=(1 / t,) if t < rules.rounds else (),
        seconds={"train": steps * second, "validate": epochs * second * 3, "score": second * 20},
    )


def _changes(
    history: Sequence[Round], now: Metrics, draw: random.Random, t: int, slow: float
) -> Mapping[str, float | None]:
    if not history:
        return dict.fromkeys(SIGNALS)
    before = history[-1].validation
    assert before is not None
    accuracy = abs(now.right - before.right) / now.n
    common = 0.3 + math.exp(-t / (2 * slow))
    moved = {name: scale * common * draw.lognormvariate(-0.4, 0.6) for name, scale in SIGNALS.items()}
    moved["alpha"] = SIGNALS["alpha"] * draw.lognormvariate(-0.9, 0.8)
    moved["loss"] = abs(now.nll - before.nll)
    moved["weight-distance"] = SIGNALS["weight-distance"] * draw.uniform(0.8, 1.2)
    return {**moved, "accuracy": accuracy, "f1": accuracy * draw.uniform(0.7, 1.1)}


def _metrics(n: int, right: int, f1: float, nll: float) -> Metrics:
    return Metrics(n, right, right / n, f1, nll, 0.08 * nll, 1.3 * (1 - right / n), 0.8 * nll, 0.03)
