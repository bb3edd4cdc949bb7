"""The paper's claims about signals, from results/findings.parquet: correlation, firing, and stability afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from bench.claims import ACCURACY, ALPHA, RETRAIN, spread
from bench.round_records import Cell, played
from bench.tables import interval, ratio, table
from hybridal.core.rounds import Round
from hybridal.lab.statistics.ranks import spearman
from hybridal.lab.study.study_presets import preset
from hybridal.reports.display_names import schedule_of
from hybridal.schedules import Rule

# What the paper says: share of runs that fired, and mean t*; ε half the largest early change, k = 3, DistilBERT.
PAPER_FIRED = {
    "accuracy": "93%, 9.1",
    "f1": "90%, 10.0",
    "loss": "43%, 13.4",
    "gradient-norm": "40%, 8.5",
    "alpha": "97%, 7.9",
    "weight-distance": "0%, –",
    "nc": "67%, 12.4",
    "cka": "33%, 5.4",
}
# Tuned ones of the main results: mean switch round over three encoders.
PAPER_TUNED = {ALPHA: "–, 8.6", ACCURACY: "–, 12.2"}


def rule_of(spec: str) -> Rule:
    rule = schedule_of(spec).rule
    assert rule is not None
    return rule


def watched(history: Sequence[Round]) -> list[str]:
    return [signal for signal, change in history[-1].changes.items() if change is not None]


def changes(cells: Sequence[Cell]) -> list[pd.DataFrame]:
    """The changes of each retraining run, by round (rows) and signal (columns); only signals recorded in all runs."""
    trunks = [history for _, history in played(cells, RETRAIN)]
    common = [signal for signal in PAPER_FIRED if all(signal in watched(history) for history in trunks)]
    return [pd.DataFrame([{name: record.changes[name] for name in common} for record in run[1:]]) for run in trunks]


def correlations(cells: Sequence[Cell]) -> dict[tuple[str, str], list[float]]:
    """Spearman's ρ of each pair of signals within each retraining run in which both moved."""
    found: dict[tuple[str, str], list[float]] = {}
    for frame in changes(cells):
        matrix = spearman(frame)
        for one, other in combinations(range(len(frame.columns)), 2):
            rho = matrix[one][other]
            found.setdefault((frame.columns[one], frame.columns[other]), []).extend([] if rho is None else [rho])
    return found


def pooled(cells: Sequence[Cell]) -> dict[tuple[str, str], float]:
    """Spearman's ρ of each pair over the rounds of all retraining runs at once, as the paper has it.

    Tasks that move much do so in many signals: that is in it too.
    """
    frame = pd.concat(changes(cells))
    matrix = spearman(frame)
    pairs = combinations(range(len(frame.columns)), 2)
    return {
        (frame.columns[one], frame.columns[other]): rho
        for one, other in pairs
        if (rho := matrix[one][other]) is not None
    }


def agreement(cells: Sequence[Cell]) -> str:
    """Are signals correlated? Mean ρ within runs; bold if its interval does not contain 0."""
    found = {pair: interval(rho) for pair, rho in correlations(cells).items()}
    *heads, _ = signals = list(changes(cells)[0].columns)
    rows = []
    for at, signal in enumerate(signals[1:], start=1):
        means = [found[one, signal] for one in signals[:at]]
        shown = [f"**{mean:+.2f}**" if low > 0 or high < 0 else f"{mean:+.2f}" for mean, low, high in means]
        rows.append([f"`{signal}`", *shown, *[""] * (len(heads) - at)])
    return table(["ρ of changes", *(f"`{signal}`" for signal in heads)], rows)


def late_over_early(cells: Sequence[Cell], rounds: int = 8) -> pd.DataFrame:
    """By task and signal, the mean change in the last rounds of each retraining run divided by that in its first."""
    frames = changes(cells)
    tasks = pd.Index([cell.named["task"] for cell, _ in played(cells, RETRAIN)])
    early, late = (
        pd.DataFrame([frame.iloc[part].mean() for frame in frames], index=tasks)
        for part in (slice(rounds), slice(-rounds, None))
    )
    return late / early


def late_changes(cells: Sequence[Cell]) -> dict[str, tuple[float, float, float]]:
    """The geometric mean of runs, by signal."""
    return {str(signal): ratio(runs, 1) for signal, runs in late_over_early(cells).items()}


def settled(cells: Sequence[Cell]) -> str:
    """Do models change less and less while they are retrained?"""
    found = late_over_early(cells)
    by_task = found.map(math.log).groupby(level=0).mean().map(math.exp)
    rows = []
    for signal, late in late_changes(cells).items():
        means = [spread(mean, ".2f") for mean in (late, ratio(by_task[signal], 1))]
        rows.append([f"`{signal}`", *means, ", ".join(f"{each:.2f}" for each in by_task[signal])])
    head = ["signal", "changes in rounds 18 to 25 over those in rounds 2 to 9", "over tasks"]
    return table([*head, ", ".join(by_task.index)], rows)


def whose(spec: str) -> str:
    """The origin of a schedule's ε: the paper's tuning, or half a normaliser."""
    if spec in PAPER_TUNED:
        return "tuned"
    return "published" if spec in preset("signals").schedules else "own"


def rules_of(*signals: str) -> list[str]:
    """The study's schedules that switch by one of these signals, signal by signal."""
    specs = dict.fromkeys(schedule_of(spec).spec for spec in preset("findings").schedules)
    found = [spec for spec in specs if (rule := schedule_of(spec).rule) and rule.signal.name in signals]
    return sorted(found, key=lambda spec: signals.index(rule_of(spec).signal.name))


def fired(cells: Sequence[Cell], spec: str) -> pd.Series[float]:
    """The round in which each retraining run would have switched, by task; NaN if it would not."""
    trunks = played(cells, RETRAIN)
    tasks = pd.Index([cell.named["task"] for cell, _ in trunks])
    return pd.Series([rule_of(spec).t_star(history) for _, history in trunks], index=tasks, dtype=float)


def firing(cells: Sequence[Cell]) -> str:
    """Do thresholds transfer, and do signals stay below them? How many retraining runs would switch, and when."""
    rows = []
    tasks = sorted({cell.named["task"] for cell in cells})
    for spec in rules_of(*changes(cells)[0].columns):
        rule = rule_of(spec)
        t_star, origin, later = fired(cells, spec), whose(spec), above_after(cells, spec)
        share, each = t_star.notna(), len(t_star) // len(tasks)
        paper = PAPER_TUNED.get(spec) or (PAPER_FIRED[rule.signal.name] if origin == "published" else "–")
        ours = f"{share.sum()} of {len(share)}, {t_star.mean():.1f}" if share.any() else "never"
        epsilon = f"{rule.detector.epsilon:.3g}, {rule.detector.patience}"
        by_task = ", ".join(f"{share[task].sum()}" for task in tasks)
        above = f"{np.mean(later):.0%}" if later else "–"
        rows.append([f"`{rule.signal.name}`", origin, epsilon, paper, ours, by_task, above])
    head = ["signal", "ε", "its value, k", "paper: fired, t*", "ours: fired, t*"]
    return table([*head, f"of {each} each: {', '.join(tasks)}", "later rounds not below ε"], rows)


def above_after(cells: Sequence[Cell], spec: str) -> list[float]:
    """Per run that switched before its end, the share of later rounds in which the signal was not below ε."""
    rule, above = rule_of(spec), []
    for cell, history in played(cells, spec):
        t_star = rule.t_star(history)
        if t_star is not None and t_star < cell.rounds:
            later = rule.changes(history)[t_star:]
            above.append(float(np.mean([change is not None and change >= rule.detector.epsilon for change in later])))
    return above
