from __future__ import annotations

import pandas as pd
import pytest

from hybridal.evidence.results import Results
from hybridal.evidence.table import Table
from hybridal.evidence.write import to_latex
from hybridal.paper.tables.switching import regret

from ...evidence.example import example
from ..latex_reader import read


def test_switch_rounds(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    found = read(to_latex(tables["switch-rounds"])).sections[""]
    for row in found:
        part = runs if row[0] == "Mean" else runs[runs["task"] == row[0]]
        for text, method in zip(row[1:], ("HybridAL ΔAcc", "HybridAL Δα"), strict=True):
            switch = part[part["method"] == method]["switch"].dropna()
            assert text == f"{switch.mean():.1f} ± {switch.std():.1f}"


def test_post_switch(tables: dict[str, Table], study: Results) -> None:
    rounds = study.rounds
    mine = rounds[(rounds["schedule"] == "hybrid:accuracy:0.01:2") & (rounds["task"] == "imdb")]
    after = mine[mine["update"] == "finetune"]["change_accuracy"]  # every run switched, and not in its last round
    row = tables["post-switch"].sections[0].rows[0]
    assert row[1].numbers == (1.0,)
    assert row[3].numbers == (after.max(),)
    assert row[4].numbers == ((after >= 0.01).mean(),)


ROUNDS = 4

SPECS = (*(f"fixed:{k}" for k in range(1, ROUNDS + 2)), "hybrid:accuracy:0.03:1")


def test_regret_against_every_switch_round() -> None:
    results = example(rounds=ROUNDS, schedules=SPECS)
    table = regret(results)
    assert table is not None
    regrets: dict[str, list[float]] = {spec: [] for spec in SPECS}
    switches = []
    for _, cell in results.runs.groupby(["task", "seed"]):
        runs = cell.set_index("schedule")
        retrain = runs.loc[f"fixed:{ROUNDS + 1}"]
        value = runs["steps"] / retrain["steps"] + 0.5 * runs["test_nll"] / retrain["test_nll"]
        able = runs["test_f1"] >= max(retrain["test_f1"], runs.loc["fixed:1"]["test_f1"]) - 0.01
        best = value[able & value.index.str.startswith("fixed")]
        switches.append(int(str(best.idxmin()).removeprefix("fixed:")))
        for spec in SPECS:
            if able[spec]:
                regrets[spec].append(value[spec] - best.min())
    first = table.sections[0]
    assert first.keys == ("DistilBERT", "By optimiser steps")
    assert first.rows[0][1].numbers[0] == pytest.approx(sum(switches) / len(switches))
    assert first.rows[0][3].numbers[0] == 0
    for row, spec in zip(first.rows[1:], SPECS, strict=True):
        mean = sum(regrets[spec]) / len(regrets[spec])
        assert row[3].numbers[0] == pytest.approx(mean, abs=1e-12)
        assert row[3].numbers[2] == len(regrets[spec])
        assert row[2].numbers[0] == pytest.approx(len(regrets[spec]) / 6)


def test_no_regret_where_a_switch_round_was_not_tried() -> None:
    assert regret(example()) is None
