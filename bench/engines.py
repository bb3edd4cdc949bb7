"""Two engines, one method, from results/findings.parquet: what both computed, and what the second did alone."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.claims import KEY, RETRAIN, accuracy_and_cost, calibration, has, name, spread
from bench.facts import Cell
from bench.tables import interval, ratio, table

# Whose rounds the second edition computed to the end before its time was up.
FINISHED = ("finetune", "newonly", "replay:96", "replay:32", "anchor:0.6", "auto")


def both(first: Sequence[Cell], second: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """The cells of one task and seed, of either engine."""
    known = {tuple(cell.named[part] for part in KEY): cell for cell in first}
    pairs = ((known.get(tuple(cell.named[part] for part in KEY)), cell) for cell in second)
    return [(one, other) for one, other in pairs if one]


def same_method(first: Sequence[Cell], second: Sequence[Cell], old: pd.DataFrame, new: pd.DataFrame) -> str:
    """The second edition against the first, run by run and over all rounds that both computed."""
    steps = [
        (one.known[word].cost.steps, other.known[word].cost.steps)
        for one, other in both(first, second)
        for word in one.known.keys() & other.known.keys()
    ]
    was, is_now = (sum(part) for part in zip(*steps, strict=True))
    rows = [[f"{len(steps):,} rounds that both computed", "", f"{is_now / was:.3f}", "", "", ""]]
    for spec in has(new, [spec for spec in FINISHED if spec in set(old["schedule"])]):
        ends = [runs[runs["schedule"] == spec].set_index(KEY).sort_index() for runs in (new, old)]
        common = ends[0].index.intersection(ends[1].index)
        mine, its = (end.loc[common] for end in ends)
        f1 = spread(interval(mine["test_f1"] - its["test_f1"]), "+.4f")
        others = [ratio(mine[column], its[column]) for column in ("steps", "test_nll", "test_nll_scaled")]
        shown = [spread(found, ".2f") for found in others]
        rows.append([name(spec), str(len(common)), shown[0], f1, *shown[1:]])
    return table(["second edition over first", "cells", "steps", "F1, difference", "NLL", "scaled NLL"], rows)


def against_first(old: pd.DataFrame, new: pd.DataFrame) -> tuple[str, str]:
    """F1 and cost, and calibration, of the second edition against retraining of the first: same tasks, same seeds."""
    seeds = old["seed"].isin(new["seed"])
    mixed = pd.concat([old[seeds & (old["schedule"] == RETRAIN)], new[new["schedule"] != RETRAIN]])
    return accuracy_and_cost(mixed, (RETRAIN, *FINISHED)), calibration(mixed, (RETRAIN, *FINISHED))
