"""Validation scores and chosen texts between the first and the last round, from results/findings.parquet."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.claims import ACCURACY, FINETUNE, RETRAIN, name, spread
from bench.round_records import Cell, played
from bench.settling import rule_of
from bench.tables import interval, table
from hybridal.core.rounds import Round

SHOWN = (1, 2, 5, 10, 15, 20, 25)


def by_round(cells: Sequence[Cell], spec: str) -> NDArray[np.float64]:
    """F1 and NLL on validation after each round, mean over cells."""
    runs = [[record.validation for record in history] for _, history in played(cells, spec)]
    measured = np.array([[[part.f1, part.nll] for part in run if part] for run in runs], dtype=np.float64)
    return np.asarray(measured.mean(axis=0))


def validation(cells: Sequence[Cell]) -> str:
    """F1 and calibration of the models by round."""
    rows = []
    for spec in (RETRAIN, FINETUNE, ACCURACY, "newonly", "replay:96", "anchor:0.6"):
        values = by_round(cells, spec)
        rows.append([name(spec), *("{:.3f} / {:.3f}".format(*values[number - 1]) for number in SHOWN)])
    return table(["macro-F1 / NLL on validation", *(f"round {number}" for number in SHOWN)], rows)


def overlap(one: Round, other: Round) -> float:
    """Jaccard's index of the texts chosen after two rounds."""
    first, second = set(one.acquired), set(other.acquired)
    return len(first & second) / len(first | second)


def overlaps(cells: Sequence[Cell], one: str, other: str) -> tuple[list[float], list[float]]:
    """The overlap of the choices of two schedules per cell: in round 2, from the same pool, and in later rounds.

    Before round 2 both have learnt the same labels. The last round chooses too, although that batch is never labelled.
    """
    early, late = [], []
    for (_, first), (_, second) in zip(played(cells, one), played(cells, other), strict=True):
        alike = [overlap(*both) for both in zip(first[1:], second[1:], strict=True)]
        early.append(alike[0])
        late.append(float(np.mean(alike[1:])))
    return early, late


def forked(cells: Sequence[Cell]) -> tuple[list[float], list[float]]:
    """The overlap of a switched run's choices with retraining's per cell: in the round of the switch and later."""
    early, late = [], []
    for cell in cells:
        found: dict[bool, list[float]] = {True: [], False: []}
        for sequence, record in cell.known.items():
            trunk = cell.known.get("R" * len(sequence))
            if re.fullmatch("R+F+", sequence) and trunk and trunk.acquired and record.acquired:
                found[sequence.endswith("RF")].append(overlap(record, trunk))
        early.append(float(np.mean(found[True])))
        late.append(float(np.mean(found[False])))
    return early, late


def entropies(cells: Sequence[Cell], spec: str) -> tuple[list[float], list[float]]:
    """Per switched run, the rise of its batches' entropy after the switch, and that of retraining's batches."""
    own: list[float] = []
    trunks: list[float] = []
    trunk = {id(cell): history for cell, history in played(cells, RETRAIN)}
    for cell, history in played(cells, spec):
        t_star = rule_of(spec).t_star(history)
        if t_star is not None and t_star < cell.rounds:
            for found, run in ((own, history), (trunks, trunk[id(cell)])):
                means = [float(np.mean(record.scores)) for record in run]
                found.append(float(np.mean(means[t_star:]) - np.mean(means[:t_star])))
    return own, trunks


def batches(cells: Sequence[Cell]) -> str:
    """Do two schedules choose the same texts?"""
    pairs = {"any switch, and retraining": forked(cells)}
    for one, other in ((FINETUNE, "replay:96"), (FINETUNE, "anchor:0.6"), ("replay:96", "replay:32")):
        pairs[f"{name(one)} and {name(other)}"] = overlaps(cells, one, other)
    rows = [[title, *(spread(interval(part), ".2f") for part in parts)] for title, parts in pairs.items()]
    return table(["overlap of batches", "from the same pool", "later, from pools of their own"], rows)
