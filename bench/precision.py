"""bfloat16 against float32 on this processor: `python -m bench.precision`.

Plays runs of the protocol `best` with both precisions, with fewer texts than the tasks have, to keep it short: one
round by default, --rounds 4 to 203 labels. Records scores on test texts and CPU seconds. Finished cells are kept, so
that the same command continues; --processes plays as many at once, each in one thread. HYBRIDAL_DATA names the folder
of texts. Prints a table for each processor and setting in the file; --tables computes nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.machine import describe
from bench.tables import bounds, table
from hybridal.backbones import load_backbone
from hybridal.core.rounds import Round
from hybridal.core.rules import Rules
from hybridal.lab.study.trie import run_cell
from hybridal.models.device import choose_device
from hybridal.runs.settings import Settings
from hybridal.system.files import file_made_whole
from hybridal.system.thread_count import one_thread
from hybridal.tasks import load_task
from hybridal.tasks.mirror import mirrored
from hybridal.tasks.task import Task

FILE = Path(__file__).resolve().parent.parent / "results" / "precision.parquet"
PRECISIONS = {"fp32": "fp32", "bf16": "auto"}
TESTED = ("accuracy", "f1", "nll", "nll_scaled")
SETTING = ["processor", "backbone", "pooling", "labels", "rounds", "batch", "pool", "tests", "max_length"]
CELL = [*SETTING, "task", "seed", "precision"]


def shortened(name: str, pool: int, tests: int) -> Task:
    """A task with fewer texts."""
    task = load_task(name)
    train, test = (
        split.take(np.arange(min(size, len(split)))) for split, size in ((task.train, pool), (task.test, tests))
    )
    return replace(task, train=train, test=test)


def play(settings: Settings, pool: int, tests: int) -> dict[str, Any]:
    """The last round of a run: its scores, and CPU seconds in all."""
    found: list[Round] = []
    task = shortened(settings.task, pool, tests)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as scratch, one_thread():
        run_cell(settings, [settings.schedule], task, {}, found.append, Path(scratch))
    last = found[-1]
    assert last.test is not None
    return {measure: getattr(last.test, measure) for measure in TESTED} | {"cpu": time.process_time() - began}


def summary(cells: pd.DataFrame) -> str:
    """A table for each setting: they are never mixed."""
    parts = [
        ", ".join(f"{name} {value}" for name, value in zip(SETTING, setting, strict=True)) + f"\n\n{compared(some)}\n"
        for setting, some in cells.groupby(SETTING, sort=False)
    ]
    return "\n".join(parts)


def compared(cells: pd.DataFrame) -> str:
    """bf16 next to fp32, by measure, over cells that have both; the bounds are over means of tasks."""
    both = cells.set_index(["task", "seed", "precision"])[[*TESTED, "cpu"]].unstack("precision").dropna()
    rows = []
    for measure in (*TESTED, "cpu"):
        exact, rounded = (both[measure, precision] for precision in PRECISIONS)
        mean, low, high = bounds((rounded - exact).groupby("task").mean())
        change = f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
        rows.append(
            [measure, f"{exact.mean():.4f}", f"{rounded.mean():.4f}", change, f"{(exact / rounded).median():.2f}"]
        )
    tasks = both.index.get_level_values("task").nunique()
    head = [f"{len(both)} pairs, {tasks} tasks", *PRECISIONS, "difference (90% over tasks)", "fp32 / bf16"]
    return table(head, rows)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=[*mirrored()])
    parser.add_argument("--seeds", nargs="+", type=int, default=[51, 52, 53])
    parser.add_argument("--labels", type=int, default=100, help="of the first round")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch", type=int, default=51, help="labels of each further round")
    parser.add_argument("--pool", type=int, default=12000)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--max-length", type=int, default=Rules.max_length)
    parser.add_argument("--backbone", default="minilm")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--tables", action="store_true", help="compute nothing, only print the tables")
    asked = parser.parse_args(words)
    if asked.tables:
        print(summary(pd.read_parquet(asked.out)))
        return
    if choose_device("cpu").precision != "bf16":
        parser.error("this processor has no instructions for bfloat16")
    overrides = {name: getattr(asked, name) for name in ("rounds", "batch", "max_length")} | {"initial": asked.labels}
    cells = pd.read_parquet(asked.out) if asked.out.exists() else pd.DataFrame(columns=CELL)
    done = {tuple(cell) for cell in cells[CELL].to_numpy()}
    pooling = load_backbone(asked.backbone, load_task(asked.tasks[0])).pooling
    setting = {"processor": describe()["processor"], "pooling": pooling}
    setting |= {name: getattr(asked, name) for name in SETTING if name not in setting}
    with ProcessPoolExecutor(asked.processes, mp_context=get_context("spawn")) as pool:
        jobs = {}
        for seed, name, precision in product(asked.seeds, asked.tasks, PRECISIONS):
            cell = setting | {"task": name, "seed": seed, "precision": precision}
            if tuple(cell[key] for key in CELL) in done:
                continue
            chosen = {**overrides, "precision": PRECISIONS[precision]}
            settings = Settings(name, backbone=asked.backbone, overrides=chosen, seed=seed, device="cpu")
            jobs[pool.submit(play, settings, asked.pool, asked.tests)] = cell
        for job in as_completed(jobs):
            found = jobs[job] | job.result()
            cells = pd.concat([cells, pd.DataFrame([found])], ignore_index=True)
            asked.out.parent.mkdir(exist_ok=True)
            with file_made_whole(asked.out) as file:
                cells.to_parquet(file, index=False)
            print(*jobs[job].values(), *(f"{name} {found[name]:.3f}" for name in ("f1", "nll", "cpu")), flush=True)
    print(summary(cells))


if __name__ == "__main__":
    main()
