"""Two engines of the same method, from results/findings.parquet: compared on common runs, and each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from bench.claims import ACCURACY, ALPHA, FINETUNE, KEY, RETRAIN, SCHEDULES, coin_toss, has, name, spread
from bench.round_records import Cell
from bench.settling import above_after, correlations, fired, late_changes, rules_of, whose
from bench.tables import interval, ratio, table
from bench.verdicts import above_best, f1, nll, saved


def both(first: Sequence[Cell], second: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """The cells of one task and seed, of either engine."""
    known = {tuple(cell.named[part] for part in KEY): cell for cell in first}
    pairs = ((known.get(tuple(cell.named[part] for part in KEY)), cell) for cell in second)
    return [(one, other) for one, other in pairs if one]


def joined(parts: Sequence[Sequence[Cell]], edition: str) -> list[Cell]:
    """Cells that several commits of one engine computed in parts: rounds that two of them have must be equal.

    Changes of signals are not compared: the code of a signal may change while the training does not.
    """
    found: dict[tuple[str, ...], Cell] = {}
    for cell in (cell for part in parts for cell in part):
        key = tuple(value for name, value in cell.named.items() if name not in ("engine", "study"))
        known = found[key].known if key in found else {}
        for sequence in known.keys() & cell.known.keys():
            if replace(known[sequence], changes={}) != replace(cell.known[sequence], changes={}):
                raise ValueError(f"{dict(cell.named)}: {sequence} of two commits differ.")
        found[key] = Cell({**cell.named, "engine": edition}, cell.rounds, {**known, **cell.known})
    return list(found.values())


def same_method(first: Sequence[Cell], second: Sequence[Cell], old: pd.DataFrame, new: pd.DataFrame) -> str:
    """The second edition against the first, run by run and over all rounds that both computed."""
    steps = [
        (one.known[sequence].cost.steps, other.known[sequence].cost.steps)
        for one, other in both(first, second)
        for sequence in one.known.keys() & other.known.keys()
    ]
    was, is_now = (sum(part) for part in zip(*steps, strict=True))
    rows = [[f"{len(steps):,} rounds that both computed", "", f"{is_now / was:.3f}", "", "", ""]]
    for spec in has(new, has(old, SCHEDULES)):
        ends = [runs[runs["schedule"] == spec].set_index(KEY).sort_index() for runs in (new, old)]
        common = ends[0].index.intersection(ends[1].index)
        mine, its = (end.loc[common] for end in ends)
        moved = spread(interval(mine["test_f1"] - its["test_f1"]), "+.4f")
        others = [ratio(mine[column], its[column]) for column in ("steps", "test_nll", "test_nll_scaled")]
        shown = [spread(found, ".2f") for found in others]
        rows.append([name(spec), str(len(common)), shown[0], moved, *shown[1:]])
    return table(["second edition over first", "cells", "steps", "F1, difference", "NLL", "scaled NLL"], rows)


def same_answers(sources: Sequence[tuple[Sequence[Cell], pd.DataFrame]]) -> str:
    """The figures behind the claims, from the records of each edition alone."""
    answers = [_answers(*source) for source in sources]
    rows = [[question, *(answer[question] for answer in answers)] for question in answers[0]]
    counts = [len(runs[runs["schedule"] == RETRAIN]) for _, runs in sources]
    return table(
        ["", *(f"{which} edition, {n} cells" for which, n in zip(("second", "first"), counts, strict=True))], rows
    )


def _answers(cells: Sequence[Cell], runs: pd.DataFrame) -> dict[str, str]:
    rho, calm = correlations(cells), late_changes(cells)
    own = next(spec for spec in rules_of("alpha") if whose(spec) == "own")
    return {
        "F1 of ΔAcc's switch against retraining": f1(runs, ACCURACY, RETRAIN),
        "… against fine-tuning": f1(runs, ACCURACY, FINETUNE),
        "F1 of Δα's switch against retraining": f1(runs, ALPHA, RETRAIN),
        "F1 of fine-tuning against retraining": f1(runs, FINETUNE, RETRAIN),
        "steps saved by ΔAcc": saved(runs, ACCURACY),
        "steps saved by Δα": saved(runs, ALPHA),
        "NLL of fine-tuning, to retraining's": nll(runs, FINETUNE),
        "… after a temperature": nll(runs, FINETUNE, "test_nll_scaled"),
        "NLL of ΔAcc's switch, to retraining's": nll(runs, ACCURACY),
        "… to a coin's at equal steps": coin_toss(runs, ACCURACY).shown,
        "regret of ΔAcc's switch at λ = 0.5": above_best(runs, ACCURACY),
        "regret of fine-tuning": above_best(runs, FINETUNE),
        "runs that fired: ΔAcc, Δα, Δα with its own ε": ", ".join(
            f"{fired(cells, spec).notna().mean():.0%}" for spec in (ACCURACY, ALPHA, own)
        ),
        "ρ of ΔAcc and ΔF1": spread(interval(rho["accuracy", "f1"]), ".2f"),
        "ρ of ΔAcc and Δα": spread(interval(rho["accuracy", "alpha"]), ".2f"),
        "late changes over early ones, ΔAcc": spread(calm["accuracy"], ".2f"),
        "late changes over early ones, Δα": spread(calm["alpha"], ".2f"),
        "later rounds not below ε, ΔAcc": spread(interval(above_after(cells, ACCURACY)), ".0%"),
    }
