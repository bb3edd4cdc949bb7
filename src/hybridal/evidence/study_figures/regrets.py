"""The regret of every switch round, and of every schedule that switches, in every cell that tried them all."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from hybridal.evidence.results import Results
from hybridal.evidence.statistics.regret import Outcome, optimum, regret
from hybridal.evidence.study_figures._tables import Cost, comparable, cost_column, hybrids, measured_split

_CELL = ["task", "backbone", "seed"]
_PURE = ["finetune", "retrain"]


def regrets(results: Results, cost: Cost = "steps") -> pd.DataFrame | None:
    """A row a cell and switch round (`schedule` is empty), and a row a cell and schedule that switches or is pure.

    None where no cell has tried every switch round, or no hybrid schedule ran.
    """
    found = comparable(results)
    if found is None:
        return None
    runs, split, column = found.runs, measured_split(found.runs), cost_column(found.runs, cost)
    named = [*_PURE, *hybrids([str(spec) for spec in runs["schedule"].unique()])]
    if split is None or column is None or len(named) == len(_PURE):
        return None
    last = int(runs["rounds"].max()) + 1
    # The word decides: whatever schedule came to a switch round, its outcome is the same.
    runs = runs.assign(switch=[_switch(word) for word in runs["word"]]).dropna(subset="switch")
    rows = []
    for cell, own in runs.groupby(_CELL, sort=False):
        tried = own.drop_duplicates("switch").sort_values("switch")
        if len(tried) < last:
            continue
        values = tried[[column, f"{split}_nll", f"{split}_f1"]].to_numpy(float).tolist()
        outcomes = [Outcome(*one) for one in values]
        best = optimum(outcomes, relative_nll=True)
        chosen = [("", s) for s in range(1, last + 1)]
        chosen += [(str(spec), int(s)) for spec, s in zip(own["schedule"], own["switch"], strict=True) if spec in named]
        for spec, s in chosen:
            one = regret(outcomes, s, best)
            rows.append((*cell, spec, s, one.regret, one.feasible, one.rounds_off, best.switch))
    columns = [*_CELL, "schedule", "switch", "regret", "feasible", "rounds_off", "best"]
    return pd.DataFrame(rows, columns=columns) if rows else None


def averages(table: pd.DataFrame) -> pd.DataFrame:
    """A row a schedule: mean switch and best round, the share of cells that keep F1, and the regret of those."""
    named = table[table["schedule"] != ""]
    groups = named.groupby("schedule", sort=False)
    means = groups[["switch", "best", "feasible"]].mean()
    return means.assign(regret=named[named["feasible"]].groupby("schedule")["regret"].mean())


def _switch(word: str) -> float:
    """The first fine-tuned round of a word that retrains and then fine-tunes; not a number for other words.

    >>> _switch("RRFF"), _switch("FF"), _switch("RR"), _switch("NN")
    (3.0, 1.0, 3.0, nan)
    """
    return word.count("R") + 1.0 if re.fullmatch("R*F*", word) else np.nan
