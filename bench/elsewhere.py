"""The paper's claims with labels drawn at random, and on an encoder of the paper's size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from bench.claims import ACCURACY, ALPHA, FINETUNE, KEY, RETRAIN, SCHEDULES, has, name, pairs, spread
from bench.tables import bounds, interval, ratio, table
from hybridal.reports.display_names import schedule_of

SPECS = (RETRAIN, FINETUNE, "newonly", ACCURACY, ALPHA)
# Those of both encoders.
PAIRED = (RETRAIN, FINETUNE, ALPHA, ACCURACY, "auto")


def among(runs: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Runs in the cells that the other runs have too."""
    known = pd.MultiIndex.from_frame(others[KEY])
    return runs[pd.MultiIndex.from_frame(runs[KEY]).isin(known)]


def side_by_side(what: str, kinds: Mapping[str, pd.DataFrame], specs: Sequence[str]) -> str:
    """Each schedule against retraining and against fine-tuning, separately for each kind of labels."""
    rows = [_row(kind, runs, spec) for kind, runs in kinds.items() for spec in has(runs, specs)]
    head = [what, "schedule", "cells", "fired", "macro-F1", "against retraining", "against fine-tuning"]
    return table([*head, "steps, share of retraining's", "NLL to retraining's", "scaled NLL"], rows)


def _row(kind: str, runs: pd.DataFrame, spec: str) -> list[str]:
    own, retrain = pairs(runs, spec)
    gains = [
        "" if spec == reference else spread(bounds(own["test_f1"] - other["test_f1"]), "+.3f")
        for reference in (RETRAIN, FINETUNE)
        for own, other in [pairs(runs, spec, reference)]
    ]
    fired = str(own["t_star"].notna().sum()) if schedule_of(spec).rule else ""
    end = [kind, name(spec), str(len(own)), fired, f"{own['test_f1'].mean():.3f}", *gains]
    if spec == RETRAIN:
        return [*end, "1", "1", "1"]
    nll = [spread(ratio(own[kind], retrain[kind]), ".2f") for kind in ("test_nll", "test_nll_scaled")]
    return [*end, spread(interval(own["steps"] / retrain["steps"]), ".2f"), *nll]


def ends_by_task(runs: pd.DataFrame) -> str:
    """Means over seeds, and after which rounds they switched."""
    rows = []
    for task, own in runs.groupby("task"):
        for spec in has(own, PAIRED):
            ends = own[own["schedule"] == spec]
            switched = ", ".join(f"{after:.0f}" for after in ends["t_star"].dropna())
            means = [f"{ends[column].mean():.3f}" for column in ("test_f1", "test_nll", "test_nll_scaled")]
            heat, steps = f"{ends['temperature'].mean():.2f}", f"{ends['steps'].mean():,.0f}"
            rows.append([f"`{task}`", name(spec), switched, steps, *means, heat])
    head = ["task", "schedule", "switched after round", "steps", "macro-F1", "NLL", "scaled NLL", "temperature"]
    return table(head, rows)


def _both(entropy: pd.DataFrame, random: pd.DataFrame, spec: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The last rounds of a schedule with both kinds of labels, in the cells that have both."""
    ends = [runs[runs["schedule"] == spec].set_index(KEY).sort_index() for runs in (entropy, random)]
    common = ends[0].index.intersection(ends[1].index)
    return ends[0].loc[common], ends[1].loc[common]


def chosen_or_drawn(entropy: pd.DataFrame, random: pd.DataFrame) -> str:
    """The gain of choosing labels by entropy over random labels, by schedule."""
    rows = []
    for spec in has(random, SCHEDULES):
        chosen, drawn = _both(entropy, random, spec)
        f1 = [f"{end['test_f1'].mean():.3f}" for end in (chosen, drawn)]
        gain = spread(bounds(chosen["test_f1"] - drawn["test_f1"]), "+.3f")
        others = [spread(ratio(chosen[kind], drawn[kind]), ".2f") for kind in ("test_nll", "test_nll_scaled", "steps")]
        rows.append([name(spec), str(len(chosen)), *f1, gain, *others])
    head = ["schedule", "cells", "F1, entropy", "F1, random", "difference", "NLL, entropy over random", "scaled NLL"]
    return table([*head, "steps"], rows)


def by_task(entropy: pd.DataFrame, random: pd.DataFrame) -> str:
    """Fine-tuning against retraining with both kinds of labels, and the gain of entropy, by task."""
    columns = []
    for runs in (among(entropy, random), random):
        own, retrain = pairs(runs, FINETUNE)
        ratios = [_ratio_by_task(own[kind], retrain[kind]) for kind in ("test_nll", "test_nll_scaled", "steps")]
        columns.append([_points(own["test_f1"] - retrain["test_f1"]), *ratios])
    ends = [_both(entropy, random, spec) for spec in (RETRAIN, FINETUNE)]
    gains = [_points(chosen["test_f1"] - drawn["test_f1"]) for chosen, drawn in ends]
    both = [*zip(*columns, strict=True), gains]
    rows = [[f"`{task}`", *(" / ".join(part[task] for part in pair) for pair in both)] for task in gains[0].index]
    head = ["fine-tuning to retraining, entropy / random", "F1, in points", "NLL", "scaled NLL", "steps"]
    return table([*head, "entropy over random, F1 in points: retraining / fine-tuning"], rows)


def _points(gains: pd.Series[float]) -> pd.Series[str]:
    return (100 * gains.groupby("task").mean()).map("{:+.1f}".format)


def _ratio_by_task(new: pd.Series[float], reference: pd.Series[float]) -> pd.Series[str]:
    logarithms = (new / reference).map(math.log)
    return logarithms.groupby("task").mean().map(math.exp).map("{:.2f}".format)
