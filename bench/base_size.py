"""The paper's schedules on an encoder of its size, `mpnet`, from results/findings.parquet."""

from __future__ import annotations

import pandas as pd

from bench.claims import ACCURACY, ALPHA, FINETUNE, KEY, RETRAIN, has, name, pairs, spread
from bench.tables import bounds, interval, ratio, table

SPECS = (RETRAIN, FINETUNE, ALPHA, ACCURACY, "auto")


def by_task(runs: pd.DataFrame) -> str:
    """Means over the runs that are whole, and after which rounds they switched."""
    rows = []
    for task, own in runs.groupby("task"):
        for spec in has(own, SPECS):
            ends = own[own["schedule"] == spec]
            switched = ", ".join(f"{after:.0f}" for after in ends["t_star"].dropna())
            means = [f"{ends[column].mean():.3f}" for column in ("test_f1", "test_nll", "test_nll_scaled")]
            heat, steps = f"{ends['temperature'].mean():.2f}", f"{ends['steps'].mean():,.0f}"
            rows.append([f"`{task}`", name(spec), str(len(ends)), switched, steps, *means, heat])
    head = ["task", "schedule", "whole runs", "switched after round", "steps", "macro-F1", "NLL", "scaled NLL"]
    return table([*head, "temperature"], rows)


def against_finetuning(runs: pd.DataFrame) -> str:
    """Bounds of F1 are one-sided, the others two-sided. Schedules that are not whole everywhere are left out.

    Runs that switch early are whole before those that switch late: they alone would be no fair sample.
    """
    rows = []
    for spec in has(runs, [spec for spec in SPECS if spec != FINETUNE]):
        own, other = pairs(runs, spec, FINETUNE)
        if len(own) < len(runs.groupby(KEY)):
            continue
        f1 = spread(bounds(own["test_f1"] - other["test_f1"]), "+.3f")
        steps = spread(interval(own["steps"] / other["steps"]), ".2f")
        nll = [spread(ratio(own[kind], other[kind]), ".2f") for kind in ("test_nll", "test_nll_scaled")]
        rows.append([name(spec), str(len(own)), f1, steps, *nll])
    return table(["against fine-tuning", "cells", "F1", "steps", "NLL", "scaled NLL"], rows)
