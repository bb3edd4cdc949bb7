"""The paper's claims about the last round, from results/findings.parquet: F1, cost, calibration, regret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bench.round_records import CELL
from bench.tables import bounds, interval, ratio, table
from hybridal.lab.statistics.paired import noninferiority
from hybridal.lab.statistics.regret import DELTA, Outcome, optimum, regret, switch_round
from hybridal.reports.display_names import schedule_of

RETRAIN, FINETUNE, ACCURACY, ALPHA = "retrain", "finetune", "hybrid:accuracy:0.005:2", "hybrid:alpha:0.0001:3"
FIXED = tuple(f"fixed:{k}" for k in (3, 5, 7, 10))
SCHEDULES = (RETRAIN, FINETUNE, *FIXED, ACCURACY, ALPHA, "newonly", "replay:96", "replay:32", "anchor:0.6", "auto")
# What tells cells of one source apart, and what they share: others are never compared, or averaged.
KEY = ["task", "seed"]
SOURCE = [name for name in CELL if name not in KEY]
# What the paper says: the lower bounds of Table 5 (90 cells); temperature, raw and scaled NLL on DistilBERT.
PAPER_PARITY = {
    (ALPHA, RETRAIN): 0.0005,
    (ALPHA, FINETUNE): -0.0045,
    (ALPHA, "the better in each cell"): -0.0086,
    (ACCURACY, RETRAIN): -0.0001,
    (ACCURACY, FINETUNE): -0.0050,
    (ACCURACY, "the better in each cell"): -0.0091,
}


def name(spec: str) -> str:
    """The short name of a schedule: ε and k only if they differ from the signal's defaults.

    >>> name(ACCURACY), name("hybrid:alpha:0.0003:3")
    ('`hybrid:accuracy`', '`hybrid:alpha:0.0003:3`')
    """
    rule = schedule_of(spec).rule
    short = f"hybrid:{rule.signal.name}" if rule else spec
    return f"`{short if schedule_of(short).spec == spec else spec}`"


def whole(runs: pd.DataFrame) -> pd.DataFrame:
    """Leave out seeds in which a schedule lacks a task: runs that were computed by chance are no fair sample."""
    tasks = runs.groupby(SOURCE)["task"].transform("nunique")
    return runs[runs.groupby([*SOURCE, "seed", "schedule"])["task"].transform("nunique") == tasks]


def pairs(runs: pd.DataFrame, spec: str, reference: str = RETRAIN) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The last rounds of two schedules in the cells of one source that have both."""
    ends = [runs[runs["schedule"] == one].set_index(KEY).sort_index() for one in (spec, reference)]
    common = ends[0].index.intersection(ends[1].index)
    return ends[0].loc[common], ends[1].loc[common]


def has(runs: pd.DataFrame, specs: Sequence[str]) -> list[str]:
    return [spec for spec in specs if spec in set(runs["schedule"])]


def spread(values: tuple[float, float, float], shape: str) -> str:
    """A figure with its interval.

    >>> spread((1.5, 1.4, 1.6), ".2f")
    '1.50 [1.40, 1.60]'
    """
    return "{} [{}, {}]".format(*(format(value, shape) for value in values))


def accuracy_and_cost(runs: pd.DataFrame, specs: Sequence[str] = SCHEDULES) -> str:
    """Macro-F1 at the end and counted steps, against retraining; bounds of F1 are one-sided, of steps two-sided."""
    rows = []
    for spec in has(runs, specs):
        own, other = pairs(runs, spec)
        end = [name(spec), str(len(own)), f"{own['test_f1'].mean():.3f}"]
        f1 = "" if spec == RETRAIN else spread(bounds(own["test_f1"] - other["test_f1"]), "+.4f")
        steps = "1" if spec == RETRAIN else spread(interval(own["steps"] / other["steps"]), ".2f")
        epochs = (own["epochs"] / own["rounds"]).mean()
        rows.append([*end, f1, f"{own['steps'].mean():,.0f}", steps, f"{epochs:.1f}"])
    head = ["schedule", "cells", "macro-F1", "against retraining", "steps", "share of retraining's", "epochs a round"]
    return table(head, rows)


def calibration(runs: pd.DataFrame, specs: Sequence[str] = SCHEDULES) -> str:
    """NLL and ECE, raw and after the temperature fitted on validation; ratios are geometric means."""
    rows = []
    for spec in has(runs, specs):
        own, other = pairs(runs, spec)
        cells = [name(spec), f"{own['temperature'].mean():.2f}"]
        for kind in ("", "_scaled"):
            nll = f"test_nll{kind}"
            cells += [f"{own[nll].mean():.3f}", "1" if spec == RETRAIN else spread(ratio(own[nll], other[nll]), ".2f")]
            cells.append(f"{100 * own[f'test_ece{kind}'].mean():.1f}%")
        rows.append(cells)
    head = ["schedule", "temperature", "NLL", "ratio to retraining's", "ECE"]
    return table([*head, "scaled NLL", "ratio to retraining's", "scaled ECE"], rows)


def parity(runs: pd.DataFrame) -> str:
    """Is the paper's method no worse in F1 than its baselines, by the paper's own test and over tasks?"""
    rows = []
    for (spec, against), published in PAPER_PARITY.items():
        own, retrain = pairs(runs, spec)
        finetune = pairs(runs, spec, FINETUNE)[1]["test_f1"]
        best = np.maximum(retrain["test_f1"], finetune)
        reference = {RETRAIN: retrain["test_f1"], FINETUNE: finetune}.get(against, best)
        found = noninferiority(own["test_f1"].to_numpy(), np.asarray(reference), margins=(0.005, 0.01))
        by_task = bounds((own["test_f1"] - reference).groupby("task").mean())
        passed = ["yes" if yes else "no" for yes in found.passes]
        values = [f"{value:+.4f}" for value in (published, found.mean or 0.0, found.low or 0.0, by_task[1])]
        rows.append([name(spec), against, *values, *passed])
    head = ["schedule", "against", "paper: not below", "ours: mean", f"not below, over {len(own)} cells"]
    return table([*head, "over tasks", "no worse by 0.005", "by 0.010"], rows)


@dataclass(frozen=True)
class Toss:
    """NLL of a schedule, and of a random choice between retraining and fine-tuning whole runs at the same cost.

    A `gain` below 0 means that the schedule is better calibrated than this random choice. `avoided` is the share of
    fine-tuning's penalty that the schedule avoids.
    """

    nll: float
    tossed: float
    gain: tuple[float, float, float]
    avoided: float

    @property
    def shown(self) -> str:
        return spread(self.gain, "+.3f")


def coin_toss(runs: pd.DataFrame, spec: str, each_task: bool = False) -> Toss:
    """With a random choice per task, retraining the tasks that fine-tuning harms is no gain: only the timing counts."""
    own, retrain = pairs(runs, spec)
    finetune = pairs(runs, spec, FINETUNE)[1]
    cost = [ends["steps"].groupby("task").transform("mean") for ends in (own, retrain, finetune)]
    if not each_task:
        cost = [pd.Series(ends["steps"].mean(), index=ends.index) for ends in (own, retrain, finetune)]
    share = (cost[0] - cost[2]) / (cost[1] - cost[2])
    tossed = share * retrain["test_nll"] + (1 - share) * finetune["test_nll"]
    nll = [ends["test_nll"].mean() for ends in (own, retrain, finetune)]
    avoided = (nll[2] - nll[0]) / (nll[2] - nll[1])
    return Toss(nll[0], tossed.mean(), interval(own["test_nll"] - tossed), avoided)


def coin(runs: pd.DataFrame) -> str:
    """Is a switch worth more than chance between its extremes?"""
    rows = []
    for spec in has(runs, (*FIXED, ACCURACY, ALPHA)):
        own, retrain = pairs(runs, spec)
        toss, saved = coin_toss(runs, spec), spread(interval(1 - own["steps"] / retrain["steps"]), ".0%")
        nll = [f"{toss.avoided:.0%}", f"{toss.nll:.3f}", f"{toss.tossed:.3f}"]
        rows.append([name(spec), saved, *nll, toss.shown, coin_toss(runs, spec, each_task=True).shown])
    head = ["schedule", "steps saved", "of fine-tuning's NLL gap avoided", "NLL", "NLL of a coin", "difference"]
    return table([*head, "to a coin for each task"], rows)


def regret_of(runs: pd.DataFrame, weights: Sequence[float]) -> pd.DataFrame:
    """By cell and schedule, the regret in the objective of Problem 1 against the best switch round, for each λ.

    Cost is counted in steps. A switch round that was not computed might be better still: regrets are at least so large.
    The F1 constraint is judged separately (`low`), because whether a cell meets it is mostly noise.
    """
    found: list[dict[Any, Any]] = []
    known = runs.assign(switch=[switch_round(sequence) for sequence in runs["update_sequence"]]).dropna(
        subset=["switch"]
    )
    for _, own in known.groupby(KEY):
        ends = own.drop_duplicates("switch").sort_values("switch")
        outcomes = [Outcome(*end) for end in ends[["steps", "test_nll", "test_f1"]].to_numpy(float).tolist()]
        place = {switch: at for at, switch in enumerate(ends["switch"], start=1)}
        free = {weight: optimum(outcomes, weight, delta=1.0) for weight in weights}
        bound = optimum(outcomes)
        for spec, switch in zip(own["schedule"], own["switch"], strict=True):
            above = {weight: regret(outcomes, place[switch], best).regret for weight, best in free.items()}
            low = not regret(outcomes, place[switch], bound).feasible
            found.append({"schedule": spec, "low": low, "tried": len(outcomes), **above})
    return pd.DataFrame(found)


def regrets(runs: pd.DataFrame, weights: Sequence[float] = (0.5, 1.0, 2.0)) -> str:
    """How far is each schedule from the best switch?"""
    found, rows = regret_of(runs, weights), []
    for spec in has(runs, (RETRAIN, FINETUNE, *FIXED, ACCURACY, ALPHA)):
        own = found[found["schedule"] == spec]
        values = [spread(interval(own[weight]), ".3f") for weight in weights]
        rows.append([name(spec), *values, f"{own['low'].sum()} of {len(own)}"])
    head = f"{found['tried'].min()} to {found['tried'].max()} switch rounds a cell"
    return table([head, *(f"λ = {weight:g}" for weight in weights), f"F1 more than {DELTA:g} too low"], rows)


def validation_and_stopping(runs: pd.DataFrame) -> str:
    """Schedules with 50 validation labels or without early stopping, against retraining and against their default."""
    titles = {
        "validation_size=50": "50 validation labels",
        "validation_size=50, learning_rate=5e-05": "50 validation labels, rate 5e-5",
        "stop_after=all, max_epochs=4, learning_rate=5e-05": "four epochs without stopping, rate 5e-5",
    }
    usual = runs[runs["variant"] == ""]
    rows = []
    for variant, title in titles.items():
        own = runs[runs["variant"] == variant]
        ends = {spec: own[own["schedule"] == spec].set_index(KEY).sort_index() for spec in SCHEDULES}
        for spec in has(own, SCHEDULES):
            before = usual[usual["schedule"] == spec].set_index(KEY)["test_f1"].reindex(ends[spec].index).dropna()
            moved = "–" if before.empty else spread(interval(ends[spec].loc[before.index, "test_f1"] - before), "+.3f")
            f1 = "" if spec == RETRAIN else spread(bounds(ends[spec]["test_f1"] - ends[RETRAIN]["test_f1"]), "+.3f")
            raw, scaled = (f"{ends[spec][nll].mean():.3f}" for nll in ("test_nll", "test_nll_scaled"))
            bold = "1" if spec == RETRAIN else spread(ratio(ends[spec]["test_nll"], ends[RETRAIN]["test_nll"]), ".2f")
            share = f"{(ends[spec]['steps'] / ends[RETRAIN]['steps']).mean():.2f}"
            end = f"{ends[spec]['test_f1'].mean():.3f}"
            rows.append([title, name(spec), end, moved, f1, f"{raw} / {scaled}", bold, share])
    head = ["protocol `paper` with", "schedule", "macro-F1", "against itself as usual", "against retraining"]
    return table([*head, "NLL raw / scaled", "raw NLL to retraining's", "steps"], rows)
