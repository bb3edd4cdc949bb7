"""What `backbone: auto` costs and gains: `python -m bench.encoders --backbones minilm gte-small`.

Each task of `HYBRIDAL_DATA` with each encoder and with `auto` among them, one row per round. Encoders may be folders.
On a GPU cells go in lanes; with --processes in several processes that share it. With --folder the study is kept, and
the same command goes on after it was stopped. Prints macro-F1 of `auto` against the better encoder, and the price.
With --read, prints macro-F1 of encoders that were recorded alone.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.tables import interval, table
from hybridal.cli.engine import choose_engine
from hybridal.core.rounds import Round
from hybridal.lab.study.run_study_cells import begin_study, run_study
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.tasks.mirror import mirrored

AUTO = "auto"
BATCH = {"initial": 50, "batch": 51}
TOTALS = {1: 50, 2: 101, 4: 203, 10: 509, 19: 968}  # labels in all, those for validation with them, by round
CELL = ["task", "seed"]


def study_of(asked: argparse.Namespace) -> Study:
    """Every encoder alone, and all of them as candidates."""
    return Study(
        "encoders",
        tasks=tuple(asked.tasks or mirrored()),
        schedules=(asked.schedule,),
        backbones=(*asked.backbones, f"{AUTO}:{','.join(asked.backbones)}"),
        seeds=tuple(asked.seeds),
        overrides={**BATCH, "rounds": asked.rounds, **({"max_length": asked.max_length} if asked.max_length else {})},
        device=asked.device,
        test_every_round=True,
    )


def rows(folder: StudyFolder) -> pd.DataFrame:
    """All rounds of the complete runs."""
    found = []
    for cell in folder.cells:
        for history in folder.histories(cell).values():
            if len(history) == cell.settings.rules.rounds:
                asked = cell.settings
                named = {"task": asked.task, "backbone": short_name(asked.backbone), "seed": asked.seed}
                found += [{**named, **_row(record)} for record in history]
    return pd.DataFrame(found)


def short_name(backbone: str) -> str:
    """
    >>> short_name("carry/minilm"), short_name("auto:carry/minilm,gte-small")
    ('minilm', 'auto')
    """
    return AUTO if backbone.startswith(f"{AUTO}:") else Path(backbone).name


def _row(record: Round) -> dict[str, Any]:
    assert record.test is not None
    choice = record.encoder
    return {
        "round": record.round,
        "labels": record.labels,
        "chosen": short_name(choice.backbone) if choice else "",
        "changed": bool(choice and choice.changed),
        "losses": json.dumps({short_name(name): loss for name, loss in choice.losses.items()} if choice else {}),
        "update": record.update,
        "reason": record.reason,
        "steps": record.cost.steps,
        **{f"test_{name}": getattr(record.test, name) for name in ("accuracy", "f1", "nll", "nll_scaled")},
        **{f"seconds_{phase}": taken for phase, taken in record.seconds.items()},
    }


def regret_table(found: pd.DataFrame) -> str:
    """Macro-F1 by labels, and the points that `auto` loses to the better encoder of each cell and number of labels."""
    encoders = [name for name in found.backbone.unique() if name != AUTO]
    lines = []
    for number, total in TOTALS.items():
        at = found[found["round"] == number].pivot_table(index=CELL, columns="backbone", values="test_f1").dropna()
        if len(at) < 2:
            continue
        better = at[encoders].max(axis=1)
        regret = [100 * (better - at[name]) for name in (*encoders, AUTO)]
        mean, low, high = interval(regret[-1])
        scores = [f"{at[name].mean():.3f}" for name in (*encoders, AUTO)]
        lost = [f"{values.mean():.1f}" for values in regret[:-1]]
        lines.append([str(total), *scores, f"{better.mean():.3f}", *lost, f"{mean:.1f} [{low:.1f}, {high:.1f}]"])
    head = ["labels", *encoders, AUTO, "the better", *(f"lost by {name}" for name in encoders), "lost by auto"]
    return table(head, lines)


def alone_table(found: pd.DataFrame) -> str:
    """Macro-F1 by labels of each encoder, where it was run on all tasks and seeds."""
    cells = len(found[CELL].drop_duplicates())
    lines = []
    for encoder, own in found.groupby("backbone", sort=False):
        at = [own.test_f1[own["round"] == number] for number in TOTALS]
        lines.append([f"`{encoder}`", *(f"{scores.mean():.3f}" if len(scores) == cells else "" for scores in at)])
    return table(["encoder", *map(str, TOTALS.values())], lines)


def task_table(found: pd.DataFrame) -> str:
    """For each task the gain of `auto` over the better encoder by labels, what it chose, and how often it changed."""
    encoders = [name for name in found.backbone.unique() if name != AUTO]
    lines = []
    for task, own in found.groupby("task", sort=False):
        cells = []
        for number in TOTALS:
            at = own[own["round"] == number].pivot_table(index="seed", columns="backbone", values="test_f1")
            if AUTO in at:
                cells.append(f"{100 * (at[AUTO] - at[encoders].max(axis=1)).mean():+.1f}")
        ours = own[own.backbone == AUTO]
        last = ours[ours["round"] == ours["round"].max()]
        chosen = ", ".join(f"{name} {count}" for name, count in last.chosen.value_counts().items())
        lines.append([f"`{task}`", *cells, chosen, f"{ours.changed.sum() / max(1, ours.seed.nunique()):.1f}"])
    totals = [str(total) for number, total in TOTALS.items() if (found["round"] == number).any()]
    return table(["task", *totals, "chosen at the end", "changes a run"], lines)


def price_table(found: pd.DataFrame) -> str:
    """Steps and seconds of a run; `comparing` are the comparisons of the encoders."""
    seconds = [str(name) for name in found if str(name).startswith("seconds_")]
    runs = found.fillna(dict.fromkeys(seconds, 0.0)).groupby(["backbone", *CELL], sort=False)[["steps", *seconds]].sum()
    means = runs.assign(all=runs[seconds].sum(axis=1)).groupby("backbone", sort=False).mean()
    comparing = means.get("seconds_encoder", pd.Series(np.zeros(len(means)), index=means.index))
    lines = [
        [name, f"{means.steps[name]:.0f}", f"{means['all'][name]:.1f}", f"{comparing[name]:.1f}"]
        for name in means.index
    ]
    return table(["backbone", "steps a run", "seconds a run", "comparing"], lines)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--backbones", nargs="+", default=["minilm", "gte-small"], help="names or folders, fastest first"
    )
    parser.add_argument("--tasks", nargs="+", help="default: all of HYBRIDAL_DATA")
    parser.add_argument("--seeds", nargs="+", type=int, default=[42, 43, 44])
    parser.add_argument("--rounds", type=int, default=19, help="19: 968 labels")
    parser.add_argument("--schedule", default="auto")
    parser.add_argument("--max-length", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, help="cells at once, in all processes")
    parser.add_argument("--processes", type=int, help="that share the GPU")
    parser.add_argument("--folder", type=Path, help="of the study; default: a temporary one")
    parser.add_argument("--out", type=Path, default=Path("results/encoders.parquet"))
    parser.add_argument("--read", type=Path, help="print the table of recorded rounds, and run nothing")
    asked = parser.parse_args(words)
    if asked.read:
        print(alone_table(pd.read_parquet(asked.read)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        home = asked.folder or Path(scratch) / "study"
        engine = choose_engine(asked.device, asked.workers, asked.processes)
        opened = (home / "study.json").exists()
        folder = StudyFolder.open(home) if opened else begin_study(study_of(asked), home, engine)
        outcomes = run_study(folder, engine)
        found = rows(folder)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    if len(found):
        found.to_parquet(asked.out, index=False, compression="zstd")
        print("\n\n".join([regret_table(found), task_table(found), price_table(found)]))
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        print(outcome.error)
    print(f"\n{asked.out}: {len(found)} rounds; {len(failed)} of {len(outcomes)} cells failed.")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
