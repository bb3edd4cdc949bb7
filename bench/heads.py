"""The old head and the new one: the paper's protocol beside ours, where both end with 968 labels on the same tasks."""

from __future__ import annotations

import pandas as pd

from bench import learners
from bench.claims import FINETUNE, KEY, RETRAIN, name, spread
from bench.tables import bounds, table

MEASURES = ["test_f1", "test_nll", "test_nll_scaled"]


def best_ends() -> pd.DataFrame:
    """The ends of what `best` computed: rows as those of `bench.facts.runs`, as far as they are needed here."""
    facts = learners.chosen(pd.read_parquet(learners.RESULTS / "learners.parquet"), learners.OURS)
    facts = facts.assign(task=facts["task"].astype(str).str.replace("ag_news", "agnews"))
    run = [*KEY, "schedule"]
    steps = facts.groupby(run, observed=True)["steps"].sum()
    last = facts[facts["round"] == facts["round"].max()].drop(columns="steps")
    return pd.merge(last, steps.reset_index(), on=run)


def two_heads(paper: pd.DataFrame) -> str:
    """Means over the tasks and seeds that both have; differences are to retraining under the paper's protocol."""
    best = best_ends().set_index(KEY)
    old = paper.set_index(KEY)
    common = old.index.unique().intersection(best.index.unique())
    reference = old[old["schedule"] == RETRAIN].loc[common]
    measured = "477 to 1,596"  # by task: all of its validation split
    rows = []
    for protocol, specs, ends in (
        ("paper", (RETRAIN, FINETUNE, "newonly", "replay:96"), old),
        ("best", ("auto", RETRAIN, FINETUNE, "refit"), best),
    ):
        for spec in specs:
            own = ends[ends["schedule"] == spec].loc[common]
            labels = f"{own['labels'].mean():.0f} + {measured if protocol == 'paper' else 50}"
            means = [f"{own[measure].mean():.3f}" for measure in MEASURES]
            same = protocol == "paper" and spec == RETRAIN
            gain = own["test_f1"] - reference["test_f1"]
            by_task = f"{bounds(gain.groupby('task').mean())[1]:+.4f}"
            f1 = ["", ""] if same else [spread(bounds(gain), "+.4f"), by_task]
            rows.append([f"`{protocol}`", name(spec), labels, means[0], *f1, *means[1:], f"{own['steps'].mean():,.0f}"])
    head = ["protocol", "schedule", "labels to learn + to measure on", "macro-F1", "against `paper`, `retrain`"]
    head.append("not below, over tasks")
    return table([*head, "NLL", "scaled NLL", "steps"], rows)
