"""Tables and a figure of docs/findings.md about our defaults, from learners.parquet and late-class.parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from bench.forecasts import back_test, first_forecasts, recorded
from bench.tables import bounds, table

RESULTS = Path(__file__).resolve().parent.parent / "results"
TOTALS = {1: 50, 2: 101, 4: 203, 10: 509, 19: 968}  # labels in all, those for validation with them, by round
SHARE = {"first_draw": "spread", "validation": "share 0.1, 50 at most"}
# What people get now, and what they got before names of classes were examples.
NOW: Mapping[str, str | int] = {
    **SHARE,
    "acquisition": "margin",
    "use_class_descriptions": "yes",
    "min_finetune_steps": 96,
}
BEFORE: Mapping[str, str | int] = {
    **SHARE,
    "acquisition": "entropy",
    "use_class_descriptions": "no",
    "min_finetune_steps": 0,
}
Described = Mapping[str, Mapping[str, str | int]]
SIDE_BY_SIDE: Described = {  # the same labels to choose from, another update
    "**auto**": {**NOW, "schedule": "auto"},
    "retrain each round": {**NOW, "schedule": "retrain"},
    "finetune each round": {**NOW, "schedule": "finetune"},
    "frozen + logistic regression": {**NOW, "schedule": "refit"},
}
LEARNERS: Described = {
    **SIDE_BY_SIDE,
    "auto, labels by entropy": {**NOW, "acquisition": "entropy", "schedule": "auto"},
    "auto, random labels after the same first draw": {**NOW, "acquisition": "random", "schedule": "auto"},
}
OLDER: Described = {name: {**BEFORE, "schedule": which["schedule"]} for name, which in SIDE_BY_SIDE.items()}
CHANGES: Described = {
    "before: entropy, three epochs": {**BEFORE, "schedule": "auto"},
    "and names of classes": {**BEFORE, "use_class_descriptions": "yes", "schedule": "auto"},
    "and margins": {**NOW, "min_finetune_steps": 0, "schedule": "auto"},
    "**and 96 steps at least**": {**NOW, "schedule": "auto"},
}
ACQUISITIONS: Described = {
    f"**{by}**" if by == "margin" else by: {**NOW, "acquisition": by, "min_finetune_steps": 0, "schedule": "auto"}
    for by in ("margin", "badge", "least-confidence", "entropy", "random")
}
BRIEF: Described = {
    "none": {**NOW, "min_finetune_steps": 0, "schedule": "auto"},
    "80 steps, two epochs": {**NOW, "min_finetune_steps": 80, "schedule": "auto:2 epochs"},
    "80 steps, three epochs": {**NOW, "min_finetune_steps": 80, "schedule": "auto"},
    "**96 steps, three epochs**": {**NOW, "schedule": "auto"},
}
VARIANTS: Described = {
    "labels grown by 0.5, two epochs": {**BEFORE, "schedule": "auto:+50%,2"},
    "**by 0.6, three epochs**": {**BEFORE, "schedule": "auto"},
    "by 0.75, three; four in the last round": {**BEFORE, "schedule": "auto:+75%,3,last 4"},
}
VALIDATION: Described = {
    "none, before names": {**BEFORE, "schedule": "auto:+50%,2", "validation": "none"},
    "a tenth, 50 at most, before names": {**BEFORE, "schedule": "auto:+50%,2"},
    "a fifth, before names": {**BEFORE, "schedule": "auto:+50%,2", "validation": "share 0.2"},
    "none": {**NOW, "schedule": "auto", "validation": "none"},
    "**a tenth, 50 at most**": {**NOW, "schedule": "auto"},
}
CELL = ["task", "seed"]
# The constants of `auto` and of the forecast were chosen on the first seeds; the fresh ones came when they stood.
CHOSEN_ON, FRESH = (42, 43, 44), (45, 46, 47)


def chosen(records: pd.DataFrame, which: Mapping[str, str | int]) -> pd.DataFrame:
    """The runs with these factors."""
    return records[np.logical_and.reduce([records[name] == value for name, value in which.items()])]


def steps(runs: pd.DataFrame) -> str:
    return f"{runs.groupby(CELL, observed=True).steps.sum().mean():,.0f}"


def curves(records: pd.DataFrame, which: Described, measure: str) -> str:
    """A measure by number of labels, mean over the tasks and seeds that all learners have."""
    found = {name: chosen(records, described) for name, described in which.items()}
    common = set.intersection(*(set(map(tuple, runs[CELL].to_numpy())) for runs in found.values()))
    rows = []
    for name, all_runs in found.items():
        runs = all_runs[[cell in common for cell in map(tuple, all_runs[CELL].to_numpy())]]
        means = runs.groupby("round")[measure].mean()
        rows.append([name, *(f"{means[number]:.3f}" for number in TOTALS), steps(runs)])
    return table([measure.removeprefix("test_").replace("_", " "), *map(str, TOTALS.values()), "steps"], rows)


def by_task(records: pd.DataFrame) -> str:
    """F1 and scaled NLL of each task at the end."""
    last = {name: chosen(records[records["round"] == 19], which) for name, which in SIDE_BY_SIDE.items()}
    rows = []
    for task in sorted(records["task"].unique()):
        ends = [runs[runs["task"] == task][["test_f1", "test_nll_scaled"]].mean() for runs in last.values()]
        rows.append([f"`{task}`", *(f"{f1:.3f} / {nll:.3f}" for f1, nll in ends)])
    return table(["968 labels", "auto", "retrain", "finetune", "frozen"], rows)


def paired(records: pd.DataFrame, measure: str, number: int = 19) -> dict[str, pd.Series[float]]:
    """By learner, the measure of each task and seed after round `number`."""
    at = records[records["round"] == number]
    return {name: chosen(at, which).set_index(CELL)[measure].sort_index() for name, which in SIDE_BY_SIDE.items()}


def verdicts(records: pd.DataFrame) -> str:
    """The difference of `auto` to the others in the last round, over 27 cells."""
    f1, nll = paired(records, "test_f1"), paired(records, "test_nll_scaled")
    ours, retrain, finetune, _ = SIDE_BY_SIDE
    # Seeds of a task are alike, so the bounds over tasks are the careful ones.
    compared = {
        "F1, against retrain": f1[ours] - f1[retrain],
        "F1, against finetune": f1[ours] - f1[finetune],
        "F1, against the better of the two in each cell": f1[ours] - np.maximum(f1[retrain], f1[finetune]),
        "scaled NLL, against retrain": nll[ours] - nll[retrain],
        "scaled NLL, against 1.05 times retrain's": nll[ours] - 1.05 * nll[retrain],
    }
    rows = []
    for name, values in compared.items():
        by_task = bounds(values.groupby("task", observed=True).mean())
        rows.append([name, *(f"{part:+.4f}" for part in (*bounds(values), *by_task[1:]))])
    head = ["auto at 968 labels", "mean difference", "not below, over 27 cells", "not above"]
    return table([*head, "not below, over nine tasks", "not above"], rows)


def first_labels(records: pd.DataFrame, fresh: pd.DataFrame) -> str:
    """The gain of acquisition and training with few labels, over task means: pairs of otherwise equal learners."""
    no_floor = {**NOW, "min_finetune_steps": 0, "schedule": "auto"}
    pairs = {
        "a frozen encoder, same labels": (fresh, LEARNERS["**auto**"], SIDE_BY_SIDE["frozen + logistic regression"]),
        "a random first draw": (records, no_floor, {**no_floor, "first_draw": "random"}),
        "random labels after the same first draw": (
            fresh,
            LEARNERS["**auto**"],
            {**NOW, "acquisition": "random", "schedule": "auto"},
        ),
    }
    rows = []
    for number in (1, 2, 4, 10):
        cells = []
        for runs, *both in pairs.values():
            one, other = (chosen(runs[runs["round"] == number], which).set_index(CELL)["test_f1"] for which in both)
            mean, low, _ = bounds(100 * (one - other).dropna().groupby("task", observed=True).mean())
            cells.append("the same" if mean == 0 else f"{mean:+.1f} ({low:+.1f} at least)")
        rows.append([str(TOTALS[number]), *cells])
    return table(["labels", *(f"over {name}" for name in pairs)], rows)


def late_class(records: pd.DataFrame) -> str:
    """Macro-F1 around the tenth round, in which texts of the last class appear."""
    shown, rows = [9, 10, 11, 12, 13, 15, 20], []
    for (protocol, task, schedule), runs in records.groupby(["protocol", "task", "schedule"], observed=True):
        means = runs.groupby("round")["test_f1"].mean()
        scores = [f"{means[number]:.3f}" for number in shown]
        rows.append([f"`{protocol}`", f"`{task}`", str(schedule), *scores, steps(runs)])
    return table(["protocol", "task", "schedule", *(f"round {number}" for number in shown), "steps"], rows)


def draw(path: Path) -> None:
    """F1 by labels, and steps against F1 and scaled NLL at the end, each learner a line and a point."""
    import matplotlib.pyplot as plt

    records = pd.read_parquet(RESULTS / "learners.parquet")
    records = records[records["seed"].isin(FRESH)]  # which all learners have
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), constrained_layout=True)
    for number, (name, which) in enumerate(LEARNERS.items()):
        runs, mark = chosen(records, which), {"marker": "osD^vX"[number], "color": f"C{number}"}
        by_round = runs.groupby("round")["test_f1"].mean()
        labels = [50 + 51 * (at - 1) for at in by_round.index]
        axes[0].plot(labels, by_round, markevery=3, markersize=5, label=name.replace("**", ""), **mark)
        cost = runs.groupby(CELL, observed=True).steps.sum().mean()
        for axis, measure in zip(axes[1:], ("test_f1", "test_nll_scaled"), strict=True):
            ends = runs[runs["round"] == 19].groupby("seed")[measure].mean()
            bar = [[ends.mean() - ends.min()], [ends.max() - ends.mean()]]
            axis.errorbar(cost, ends.mean(), yerr=bar, markersize=9 if number == 0 else 7, linestyle="none", **mark)
    axes[0].set(title="macro-F1 (more is better)", xlabel="labels, those for validation counted")
    axes[1].set(title="macro-F1 with 968 labels", xlabel="optimiser steps of a run")
    axes[2].set(title="scaled NLL with 968 labels (less is better)", xlabel="optimiser steps of a run")
    for axis in axes[1:]:
        axis.set_xscale("symlog", linthresh=100)
        axis.set_xlim(-20, 12_000)
    for axis in axes:
        axis.title.set_fontsize(10)
        axis.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def tables() -> dict[str, str]:
    """All of them, by name."""
    everything = pd.read_parquet(RESULTS / "learners.parquet")
    records, fresh = (everything[everything["seed"].isin(seeds)] for seeds in (CHOSEN_ON, FRESH))
    late = pd.read_parquet(RESULTS / "late-class.parquet")
    auto = SIDE_BY_SIDE["**auto**"]
    forecasts = {
        "50 validation labels": recorded(chosen(fresh, auto)),
        "the same, first seeds": recorded(chosen(records, auto)),
        "none, first seeds": recorded(chosen(records, VALIDATION["none"])),
    }
    seeds = {"the seeds chosen on": records, "other seeds": fresh}
    first = {
        f"{classes}; {words}": recorded(chosen(part[part["classes"].between(*bounds)], auto))
        for classes, bounds in {"2 to 6 classes": (2, 6), "77 and 150 classes": (77, 150)}.items()
        for words, part in seeds.items()
    }
    return {
        "F1": curves(fresh, LEARNERS, "test_f1"),
        "scaled NLL": curves(fresh, LEARNERS, "test_nll_scaled"),
        "first labels": first_labels(records, fresh),
        "verdicts": verdicts(fresh),
        "by task": by_task(fresh),
        "changes": curves(records, CHANGES, "test_f1"),
        "changes, NLL": curves(records, CHANGES, "test_nll_scaled"),
        "acquisitions": curves(records, ACQUISITIONS, "test_f1"),
        "brief trainings": curves(records, BRIEF, "test_f1"),
        "before": curves(everything, OLDER, "test_f1"),
        "variants": curves(records, VARIANTS, "test_f1"),
        "validation": curves(records, VALIDATION, "test_f1"),
        "validation, NLL": curves(records, VALIDATION, "test_nll_scaled"),
        "late class": late_class(late),
        "forecast": back_test(forecasts),
        "forecast after the first round": first_forecasts(first),
    }
