"""The old head and the new one: the paper's protocol and ours, where both end with 968 labels on the same tasks."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bench import learners
from bench.claims import FINETUNE, KEY, RETRAIN, name, spread
from bench.tables import bounds, table

MEASURES = ["test_f1", "test_nll", "test_nll_scaled"]


def best_ends(described: Mapping[str, str | int]) -> pd.DataFrame:
    """The ends of what `best` computed so: rows as of `bench.round_records.runs`, as far as they are needed here."""
    records = learners.chosen(pd.read_parquet(learners.RESULTS / "learners.parquet"), described)
    records = records.assign(task=records["task"].astype(str).str.replace("ag_news", "agnews"))
    run = [*KEY, "schedule"]
    steps = records.groupby(run, observed=True)["steps"].sum()
    last = records[records["round"] == records["round"].max()].drop(columns="steps")
    return pd.merge(last, steps.reset_index(), on=run)


def two_heads(paper: pd.DataFrame) -> str:
    """Means over the tasks and seeds that both have; differences are to retraining under the paper's protocol."""
    before, now = (best_ends(described).set_index(KEY) for described in (learners.BEFORE, learners.NOW))
    old = paper.set_index(KEY)
    common = old.index.unique().intersection(before.index.unique())
    reference = old[old["schedule"] == RETRAIN].loc[common]
    rows = []
    for protocol, specs, ends, measured in (
        ("`paper`", (RETRAIN, FINETUNE, "newonly", "replay:96"), old, "477 to 1,596"),  # all of a task's validation
        ("`best`, entropy, no names", ("auto", RETRAIN, FINETUNE, "refit"), before, "50"),
        ("`best`", ("auto",), now, "50"),
    ):
        for spec in specs:
            own = ends[ends["schedule"] == spec].loc[common]
            labels = f"{own['labels'].mean():.0f} + {measured}"
            means = [f"{own[measure].mean():.3f}" for measure in MEASURES]
            gain = own["test_f1"] - reference["test_f1"]
            by_task = f"{bounds(gain.groupby('task').mean())[1]:+.4f}"
            f1 = ["", ""] if ends is old and spec == RETRAIN else [spread(bounds(gain), "+.4f"), by_task]
            rows.append([protocol, name(spec), labels, means[0], *f1, *means[1:], f"{own['steps'].mean():,.0f}"])
    head = ["protocol", "schedule", "labels to learn + to measure on", "macro-F1", "against `paper`, `retrain`"]
    head.append("not below, over tasks")
    return table([*head, "NLL", "scaled NLL", "steps"], rows)
