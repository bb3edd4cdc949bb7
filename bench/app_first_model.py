"""How long the first model takes: `python -m bench.app_first_model` writes bench/results/app_first_model.json.

The app runs as a person starts it, with its trainer, on the demo's texts and `minilm`. A simulated person labels the
texts in the order in which they are served, one every few seconds. The time is measured from the tenth training label,
once it is in the database, until the queue and the predictions of a model are there.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import func, select

from bench.app_load import serving
from hybridal.app.db.schema import Person, QueuedText, Trainer
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.app.project_settings import DEFAULTS
from hybridal.runs.settings import DEMO
from hybridal.tasks import load_task

LONGEST = 300.0


def first_model(folder: Path, backbone: str, pause: float, whole: bool) -> dict[str, float]:
    """The seconds of one project: of labelling, until the first model and, if requested, until the end of its round."""
    task = load_task(DEMO.task, classes=DEMO.classes)
    truth = task.answers(task.train.ids)
    rows = [(id, text, None) for id, text in zip(task.train.ids, task.train.texts, strict=True)]
    project = Project.create(Source(task.name, rows, task.classes), folder, backbone=backbone)
    with serving(project.folder, None):
        began, key = time.perf_counter(), 0
        learnt = 0
        while learnt < DEFAULTS["overrides"]["initial"]:
            time.sleep(pause)
            with project.sessions.begin() as session:
                me = session.scalars(select(Person).where(Person.name == "me")).one()
                (text,) = lease_texts(session, me, 1, project.settings()).texts
                annotate(session, me, text.id, "label", class_name=truth[text.id], key=f"key-{key}")
                learnt, key = learnt + (text.split == "pool"), key + 1
        labelled = time.perf_counter()
        until(project, lambda row, queued: row.round >= 1 and queued > 0)
        taken = {"labelling": labelled - began, "first_model": time.perf_counter() - labelled}
        if whole:
            until(project, lambda row, _: row.round >= 1 and row.phase == "waiting")
            taken["its_round"] = time.perf_counter() - labelled
    project.close()
    return taken


def until(project: Project, there: Any) -> None:
    """Wait until the trainer reports this state."""
    start = time.perf_counter()
    while time.perf_counter() - start < LONGEST:
        with project.reads() as session:
            row, queued = session.get_one(Trainer, 1), session.scalar(select(func.count()).select_from(QueuedText)) or 0
        if row.phase == "failed":
            raise RuntimeError(row.error)
        if there(row, queued):
            return
        time.sleep(0.02)
    raise RuntimeError("the trainer did not get there")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two labels")
    parser.add_argument("--whole", action="store_true", help="wait for the model's round too")
    parser.add_argument("--backbone", default="minilm")
    parser.add_argument("--out", default="bench/results/app_first_model.json")
    asked = parser.parse_args()
    found, loads = [], []
    for _ in range(asked.runs):
        loads.append(round(os.getloadavg()[0], 1))
        with tempfile.TemporaryDirectory() as folder:
            found.append(first_model(Path(folder) / "demo.hybridal", asked.backbone, asked.pause, asked.whole))
        print({name: round(seconds, 2) for name, seconds in found[-1].items()}, flush=True)
    figures = {
        "backbone": asked.backbone,
        "pause_s": asked.pause,
        "cores": os.cpu_count(),
        "load_before": loads,
        **{
            f"{name}_s": {"median": round(median(values), 2), "all": [round(value, 2) for value in values]}
            for name in found[0]
            if name != "labelling"
            for values in [[one[name] for one in found]]
        },
    }
    path = Path(asked.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
