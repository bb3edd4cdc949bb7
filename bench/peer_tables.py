"""The tables of docs/comparison.md, from the cells that `bench.peers` computes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bench.tables import interval, table

# The cheap ones first, so that a comparison that is stopped has all of these.
LEARNERS: Mapping[str, str] = {
    "tfidf": "TF-IDF + logistic regression",
    "frozen": "sentence-transformers + logistic regression",
    "frozen, C=30": "the same, a weaker penalty (C = 30)",
    "frozen, balanced weights": "the same, balanced class weights",
    "frozen, names": "the same, class names as examples",
    "scikit-activeml": "scikit-activeml, margin, same embeddings",
    "hybridal": "**hybridal**, `auto`, `minilm`",
    "hybridal, gte-small": "**hybridal**, `auto`, `gte-small`",
    "hybridal, backbone auto": "**hybridal**, `auto`, `backbone: auto`",
    "setfit": "SetFit, random labels",
    "setfit, balanced labels": "SetFit, as many labels of each class",
    "small-text": "small-text, transformer, breaking ties",
    "small-text, setfit": "small-text, SetFit, breaking ties",
}
FIGURES = {"accuracy": ("accuracy", 3), "nll": ("log loss", 2), "ece": ("ECE", 3)}
COSTS = {"seconds": ("CPU s", 0), "megabytes": ("MB", 0)}  # those of several machines cannot be compared
OURS, OURS_LARGER = "hybridal", "hybridal, gte-small"
MACHINE = ["processor", "device", "torch"]


def tables(found: pd.DataFrame) -> str:
    """Two tables for each number of labels, the cells where others are ahead, then what was not run."""
    done = found[found.labels.notna()]
    number = {machine: place for place, machine in enumerate(sorted(set(machines(done))), start=1)}
    done = done.assign(machine=[number[machine] for machine in machines(done)])
    counts = sorted(done.labels.astype(int).unique().tolist())
    told = [f"Machine {place}: {', '.join(machine[:-1])}, torch {machine[-1]}." for machine, place in number.items()]
    each = [part(labels, done[done.labels == labels]) for labels in counts for part in (of_labels, by_task)]
    return "\n".join(["\n".join(told) + "\n", *each, ahead(done), not_run(found)])


def machines(done: pd.DataFrame) -> list[tuple[str, ...]]:
    """Processor, device and version of torch of each row."""
    return [tuple(map(str, row)) for row in done[MACHINE].to_numpy()]


def of_labels(labels: int, found: pd.DataFrame) -> str:
    """Means over tasks, of learners that have all of them; the spread is that over seeds that have all tasks.

    The lead is over the tasks and seeds that both have, with its interval over tasks.
    """
    shown = FIGURES if found.machine.nunique() > 1 else {**FIGURES, **COSTS}
    rows = []
    for learner, words in LEARNERS.items():
        some = found[found.learner == learner]
        if not len(some):
            continue
        seeds = some.pivot_table(index="seed", columns="task", values="f1").dropna().mean(axis=1)
        spread = f" ± {seeds.std():.3f}" if len(seeds) > 1 else ""
        lead = "" if learner == OURS else _lead(found, learner)
        whole = some.task.nunique() == found.task.nunique()
        score = f"{_mean(some, 'f1'):.3f}{spread}" if whole else ""
        others = [_figure(some, name, digits) if whole else "" for name, (_, digits) in shown.items()]
        rows.append([words, _machine(some), f"{some.task.nunique()}, {len(some)}", score, lead, *others])
    head = ["learner", "machine", "tasks, runs", "macro-F1", "hybridal ahead", *(word for word, _ in shown.values())]
    return f"### {labels} labels\n\n{table(head, rows)}\n"


def _lead(found: pd.DataFrame, learner: str) -> str:
    gains = (-100 * margins(found, learner, OURS, "f1")).groupby("task").mean()
    if gains.empty:
        return ""
    lead = f"{gains.mean():+.1f}"
    if len(gains) > 2:
        _, low, high = interval(gains.tolist())
        lead += f" [{low:+.1f}, {high:+.1f}]"
    return lead


def margins(found: pd.DataFrame, learner: str, reference: str, measure: str) -> pd.Series:
    """By how much a learner's measure is above that of another one, in each run that both have."""
    runs = found.pivot_table(index=["labels", "task", "seed"], columns="learner", values=measure)
    if not {learner, reference} <= {*runs}:
        return pd.Series(dtype=float, index=runs.index[:0])
    return (runs[learner] - runs[reference]).dropna()


def _mean(some: pd.DataFrame, name: str) -> float:
    return float(some.groupby("task")[name].mean().mean())


def _figure(some: pd.DataFrame, name: str, digits: int) -> str:
    """The mean, if all runs have it."""
    return "" if name not in some or some[name].isna().any() else f"{_mean(some, name):.{digits}f}"


def _machine(some: pd.DataFrame) -> str:
    return ", ".join(str(place) for place in sorted(some.machine.unique()))


def by_task(labels: int, found: pd.DataFrame) -> str:
    """Macro-F1 of each task; the highest in bold."""
    means = found.pivot_table(index="learner", columns="task", values="f1").round(3)
    best, scores = means.max().tolist(), means.T.to_dict("list")
    rows = [[words, *map(_cell, scores[name], best)] for name, words in LEARNERS.items() if name in scores]
    head = [f"macro-F1, {labels} labels", *(f"`{task}`" for task in means)]
    return f"{table(head, rows)}\n"


def _cell(value: float, best: float) -> str:
    if np.isnan(value):
        return ""
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"


def ahead(found: pd.DataFrame) -> str:
    """The tasks and numbers of labels where another tool's mean is better than hybridal's with either encoder."""
    rows = []
    for name, measure, sign in (("macro-F1", "f1", 1), ("log loss", "nll", -1)):
        for learner, words in LEARNERS.items():
            if learner.startswith(OURS):
                continue
            gains = {ours: _gains(sign * margins(found, learner, ours, measure)) for ours in (OURS, OURS_LARGER)}
            for cell in sorted({cell for gain in gains.values() for cell, (value, _) in gain.items() if value > 0}):
                runs = max(gain[cell][1] for gain in gains.values() if cell in gain)
                told = [f"{gain[cell][0]:+.3f}" if cell in gain else "" for gain in gains.values()]
                rows.append([name, f"`{cell[1]}`", f"{cell[0]:.0f}", words, f"{runs}", *told])
    head = ["measure", "task", "labels", "learner", "seeds", "better than `minilm`", "better than `gte-small`"]
    return f"### Where others are ahead\n\n{table(head, rows)}\n" if rows else ""


def _gains(values: pd.Series) -> dict[tuple[float, str], tuple[float, int]]:
    """By number of labels and task: the mean over seeds, and how many there are."""
    cells = values.groupby(level=["labels", "task"]).agg(["mean", "size"]).reset_index()
    return {(labels, task): (mean, size) for labels, task, mean, size in cells.itertuples(index=False)}


def not_run(found: pd.DataFrame) -> str:
    """What failed, with the reason; empty if all runs ended well."""
    failed = found[found.labels.isna()]
    if failed.empty:
        return ""
    rows = []
    for (learner, reason), some in failed.groupby(["learner", "failed"], sort=False):
        tasks = ", ".join(f"`{task}`" for task in sorted(some.task.unique()))
        rows.append([LEARNERS[str(learner)], tasks, str(reason)])
    return f"### Not run\n\n{table(['learner', 'tasks', 'reason'], rows)}\n"
