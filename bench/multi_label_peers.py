"""small-text on texts with several labels, next to our curves: `python -m bench.multi_label_peers`.

HYBRIDAL_DATA names the folder of texts; `make bench` makes the environment of small-text. More than a quarter of an
hour a task on one core; `--labels 50 100 200` takes half of it. Each finished task is saved, and the table is printed
without `--tasks` too. scikit-activeml (1.0.1) has nothing for several labels.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import pandas as pd

from bench.multi_label import FILE, NAMES, runs
from bench.process import ROOT, run
from bench.tables import table
from hybridal.backbones.load import load_backbone
from hybridal.tasks import load_task
from hybridal.tasks.task import Split, Task

PEERS = FILE.with_name("multi-label-peers.parquet")
PYTHON = ROOT / ".venv-small-text" / "bin" / "python"
LABELS, SEEDS = {1: 50, 2: 100, 4: 200, 10: 500}, (42,)  # by the round of our runs
CANDIDATES, LENGTH = 1000, 128  # as in the protocol `best`


def small_text(name: str, seed: int, labels: Sequence[int]) -> pd.DataFrame:
    """The curve of small-text on one task."""
    task = load_task(name)
    asked = {
        "backbone": str(load_backbone("minilm", task).folder),
        "classes": len(task.classes),
        "train": _part(task, task.train),
        "test": _part(task, task.test),
        "labels": [*labels],
        "candidates": CANDIDATES,
        "length": LENGTH,
        "seed": seed,
    }
    return pd.DataFrame(run(PYTHON, "bench.contenders.small_text_sets", json.dumps(asked))["curve"])


def _part(task: Task, split: Split) -> dict[str, object]:
    return {"texts": [*split.texts], "targets": task.objective.targets(split.labels).astype(int).tolist()}


def peers() -> str:
    """Macro- and micro-F1 by labels, means over the tasks that were run: our learners next to small-text."""
    theirs = pd.read_parquet(PEERS)
    ours = pd.read_parquet(FILE)
    ours = ours[ours["task"].isin(theirs["task"]) & ours["seed"].isin(theirs["seed"])]
    counts = {number: n for number, n in LABELS.items() if n in {*theirs["labels"]}}
    kinds = {NAMES[name]: runs(ours, schedule=name) for name in ("auto", "refit")}
    rows = [
        [name, *(_pair(some[some["round"] == number], "test_") for number in counts)] for name, some in kinds.items()
    ]
    rows.append(
        ["small-text, transformer, CVIRS", *(_pair(theirs[theirs["labels"] == n], "") for n in counts.values())]
    )
    return table(["macro-F1 / micro-F1", *map(str, counts.values())], rows)


def _pair(some: pd.DataFrame, prefix: str) -> str:
    return " / ".join(f"{some[prefix + measure].mean():.3f}" for measure in ("f1", "micro_f1"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=())
    parser.add_argument("--labels", nargs="+", type=int, default=[*LABELS.values()])
    asked = parser.parse_args()
    for task in asked.tasks:
        for seed in SEEDS:
            found = small_text(task, seed, asked.labels).assign(task=task, seed=seed)
            print(found.to_string(index=False), flush=True)
            known = pd.read_parquet(PEERS).query("task != @task or seed != @seed") if PEERS.exists() else None
            pd.concat([known, found], ignore_index=True).to_parquet(PEERS, index=False)
    print(peers())


if __name__ == "__main__":
    main()
