from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.lab.paper.tables.switching_tables import post_switch, regret, switch_rounds, switching
from hybridal.lab.study.study_results import Results
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.report_table import Table
from hybridal.reports.table_formats import to_latex

from ....reports.latex_reader import read
from ...reports.example import example
from ..by_hand import by_hand


def test_switch_round_table(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    *tasks, _ = read(to_latex(tables["switch-rounds"])).sections[""]
    for row in tasks:
        part = runs[runs["task"] == row[0]]
        for text, method in zip(row[1:], ("HybridAL ΔAcc", "HybridAL Δα"), strict=True):
            switch = part[part["method"] == method]["switch"].dropna()
            assert text == f"{switch.mean():.1f} ± {switch.std():.1f}"


def test_switch_rounds_are_averaged_over_cells_with_the_same_weight_as_in_the_paper() -> None:
    """One run on IMDb counts as much as three on AG News."""
    results = example(skip=(("imdb", 43), ("imdb", 44)))
    table = switch_rounds(results)
    assert table is not None
    runs = by_hand(results.folder.path)
    for entry, method in zip(table.sections[0].rows[-1][1:], ("HybridAL ΔAcc", "HybridAL Δα"), strict=True):
        by_task = runs[runs["method"] == method].groupby("task")["switch"].mean()
        assert entry.numbers == pytest.approx((by_task.mean(), by_task.std(), 2, 4))


def test_after_the_switch_t_star_is_averaged_over_backbones_with_the_same_weight() -> None:
    results = example(backbones=("bert", "tiny"))
    left = results.runs[~((results.runs["backbone"] == "bert") & (results.runs["seed"] > 42))]
    table = post_switch(replace(results, runs=left))
    assert table is not None
    mine = left[(left["schedule"] == "hybrid:accuracy:0.01:2") & (left["task"] == "imdb")]
    by_backbone = mine.groupby("backbone")["t_star"].mean()
    assert by_backbone.mean() != mine["t_star"].mean()
    assert table.sections[0].rows[0][2].numbers[0] == pytest.approx(by_backbone.mean())


def test_post_switch_table(tables: dict[str, Table], study: Results) -> None:
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


histories = st.lists(
    st.lists(st.sampled_from([0.0, 0.001, 0.004, 0.005, 0.006, 0.03]), max_size=15).map(lambda rest: [None, *rest]),
    max_size=5,
)


@given(histories, st.integers(1, 4))
def test_switching_agrees_with_a_plain_reading_of_the_definition(runs: list[list[float | None]], k: int) -> None:
    fired, later = [], []
    for changes in runs:
        fits = [
            t for t in range(k, len(changes) + 1)
            if all(change is not None and change < 0.005 for change in changes[t - k : t])
        ]  # fmt: skip
        if fits:
            fired.append(fits[0])
            later += [change for change in changes[fits[0] :] if change is not None]
    found = switching(runs, Stabilisation(0.005, k))
    assert found.fired == fired
    assert found.largest_after == max(later, default=None)
    assert found.recrossed_share == (sum(not change < 0.005 for change in later) / len(later) if later else None)
