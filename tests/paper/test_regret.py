from __future__ import annotations

import pytest

from hybridal.paper.tables.switching import regret

from ..evidence.example import example

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
