"""bfloat16 against float32 on this processor: `python -m bench.precision`.

Plays one round of the protocol `best` per task and seed (choose, probe, train, score) with
both precisions, one after the other. Records scores on test texts and CPU seconds. Finished cells are kept, so that
the same command continues. HYBRIDAL_DATA names the folder of texts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from bench.tables import bounds, table
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


def shortened(name: str, tests: int) -> Task:
    """A task with fewer test texts."""
    task = load_task(name)
    return replace(task, test=task.test.take(range(min(tests, len(task.test)))))


def play(task: Task, settings: Settings) -> dict[str, Any]:
    """The last round of a run: its scores, and CPU seconds in all."""
    found: list[Round] = []
    began = time.process_time()
    with tempfile.TemporaryDirectory() as scratch, one_thread():
        run_cell(settings, [settings.schedule], task, {}, found.append, Path(scratch))
    last = found[-1]
    assert last.test is not None
    return {measure: getattr(last.test, measure) for measure in TESTED} | {"cpu": time.process_time() - began}


def summary(cells: pd.DataFrame) -> str:
    """bf16 next to fp32, by measure, over cells that have both."""
    both = cells.set_index(["task", "seed", "precision"]).unstack("precision").dropna()
    rows = []
    for measure in (*TESTED, "cpu"):
        exact, rounded = (both[measure, precision] for precision in PRECISIONS)
        mean, low, high = bounds((rounded - exact).groupby("task").mean())
        change = f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
        rows.append(
            [measure, f"{exact.mean():.4f}", f"{rounded.mean():.4f}", change, f"{(exact / rounded).median():.2f}"]
        )
    return table([f"{len(both)} cells", *PRECISIONS, "difference (90% over tasks)", "fp32 / bf16"], rows)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=mirrored())
    parser.add_argument("--seeds", nargs="+", type=int, default=[51, 52, 53])
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--max-length", type=int, default=Rules.max_length)
    parser.add_argument("--backbone", default="minilm")
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args(words)
    if choose_device("cpu").precision != "bf16":
        parser.error("this processor has no instructions for bfloat16")
    overrides = {"rounds": 1, "initial": asked.labels, "max_length": asked.max_length}
    cells = pd.read_parquet(asked.out) if asked.out.exists() else pd.DataFrame(columns=["task", "seed", "precision"])
    for seed in asked.seeds:
        for name in asked.tasks:
            for precision, wanted in PRECISIONS.items():
                cell = {"task": name, "seed": seed, "precision": precision}
                if (cells[[*cell]] == list(cell.values())).all(axis=1).any():
                    continue
                chosen = {**overrides, "precision": wanted}
                settings = Settings(name, backbone=asked.backbone, overrides=chosen, seed=seed, device="cpu")
                found = cell | play(shortened(name, asked.tests), settings)
                cells = pd.concat([cells, pd.DataFrame([found])], ignore_index=True)
                asked.out.parent.mkdir(exist_ok=True)
                with file_made_whole(asked.out) as file:
                    cells.to_parquet(file, index=False)
                print(*cell.values(), *(f"{name} {found[name]:.3f}" for name in ("f1", "nll", "cpu")), flush=True)
    print(summary(cells))


if __name__ == "__main__":
    main()
