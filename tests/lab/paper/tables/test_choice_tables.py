from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from hybridal.lab.paper.tables import TABLES
from hybridal.lab.paper.tables.choice_tables import samplers, tuning_choice, tuning_grid
from hybridal.lab.study.study_results import Results
from hybridal.reports.report_table import Table
from hybridal.reports.table_formats import to_latex

from ....reports.latex_reader import read
from ...reports.example import example


def test_the_ablation_has_every_measure_and_fire_rates_only_for_hybrids(
    tables: dict[str, Table], runs: pd.DataFrame
) -> None:
    found = read(to_latex(tables["signal-ablation"])).sections
    assert [title.removeprefix("DistilBERT, ") for title in found] == [
        "Test F1 (higher is better)",
        "Test NLL (lower is better)",
        "Optimiser steps (lower is better)",
        "Training seconds (lower is better)",
        "Fire rate",
        "Switch round t*",
    ]
    methods = [row[0] for row in found["DistilBERT, Test F1 (higher is better)"]]
    assert methods == ["Retrain", "FineTune", "HybridAL ΔAcc", "HybridAL Δα"]
    for row in found["DistilBERT, Fire rate"]:
        fired = runs[runs["method"] == row[0]]["switch"].notna()
        assert row[3] == f"{100 * fired.mean():.0f}%"
    assert [row[0] for row in found["DistilBERT, Fire rate"]] == methods[2:]


def test_signal_summary_names_what_is_measured(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    rows = read(to_latex(tables["signal-summary"])).sections["DistilBERT"]
    assert [row[:5] for row in rows] == [
        ["ΔAcc", "performance", "answers on validation", "0.01", "2"],
        ["Δα", "model", "weights", "0.0001", "2"],
    ]
    for row in rows:
        switch = runs[runs["method"] == f"HybridAL {row[0]}"]["switch"].dropna()
        assert row[6] == f"{switch.mean():.1f} ± {switch.std():.1f}"


def test_correlations_are_those_of_pandas(tables: dict[str, Table], study: Results) -> None:
    rounds = study.rounds[study.rounds["schedule"] == "retrain"]
    table = tables["signal-correlations"]
    names = [column.title for column in table.columns[1:]]
    expected = rounds[[f"change_{name}" for name in names]].dropna().rank().corr().to_numpy()
    found = np.array([[entry.numbers[0] for entry in row[1:]] for row in table.rows()], dtype=float)
    assert found == pytest.approx(expected)


VARIED = {
    "pool-size": (({"initial": 50}, {"initial": 1000}), ["50", "1,000"]),
    "batch-size": (({"batch": 4}, {"batch": 8}), ["4", "8"]),
    "subset-size": (({"candidates": 100}, {"candidates": None}), ["100", "all"]),
    "validation-size": (({"validation_size": 25}, {"validation_size": None}), ["25", "all"]),
    "dropout": (({"dropout": "on"}, {"dropout": "finetune"}), ["on", "finetune"]),
    "calibrated-acquisition": (({"calibrate": False}, {"calibrate": True}), ["no", "yes"]),
    "early-stopping": (
        ({"max_epochs": 5, "stop_after": None}, {"max_epochs": 10, "stop_after": 2}),
        ["5 epochs", "≤ 10 epochs, patience 2"],
    ),
    "variants": (({"initial": 50, "batch": 8}, {}), ["initial=50, batch=8", "as it is"]),
}


@pytest.mark.parametrize("name", VARIED)
def test_each_variation_has_its_table_and_only_its_own(name: str) -> None:
    vary, values = VARIED[name]
    results = example(vary=vary, tasks=("imdb",), seeds=(1, 2), rounds=2, schedules=("retrain", "fixed:2"))
    made = {other: TABLES[other](results) for other in VARIED}
    assert [other for other, table in made.items() if table is not None] == [name]
    table = made[name]
    assert table is not None
    found = read(to_latex(table))
    f1 = found.sections["DistilBERT, Test F1 (higher is better)"]
    assert [row[0] for row in f1] == [value for value in values for _ in range(2)]
    for row, (_, mine) in zip(f1, results.runs.groupby(["variant", "schedule"], sort=False), strict=True):
        text = f"{mine['test_f1'].mean():.3f} ± {mine['test_f1'].std():.3f}"
        assert row[2].removesuffix("^*") == text


def test_acquisition_table() -> None:
    results = example(
        acquisitions=("entropy", "badge"), tasks=("imdb",), seeds=(1, 2), rounds=2, schedules=("retrain", "fixed:2")
    )
    table = samplers(results)
    assert table is not None
    assert [row[0].text for row in table.sections[0].rows] == ["Entropy", "Entropy", "BADGE", "BADGE"]
    assert samplers(example()) is None


def test_a_plain_study_has_no_variations(tables: dict[str, Table]) -> None:
    assert not set(VARIED) & set(tables)


EPSILONS, PATIENCES = (0.0001, 0.0003), (2, 3)


@pytest.fixture(scope="module")
def grid() -> Results:
    return example(schedules=tuple(f"hybrid:alpha:{e}:{k}" for e, k in product(EPSILONS, PATIENCES)))


def by_hand(results: Results, cost: str) -> tuple[dict[tuple[float, int], list[float]], tuple[float, int]]:
    means = {}
    for e, k in product(EPSILONS, PATIENCES):
        mine = results.runs[results.runs["schedule"] == f"hybrid:alpha:{e}:{k}"]
        means[e, k] = [float(mine[name].mean()) for name in ("validation_f1", "validation_nll", cost)]
    kept = {name: row for name, row in means.items() if row[0] >= 0.995 * max(row[0] for row in means.values())}
    nll, spent = min(row[1] for row in kept.values()), min(row[2] for row in kept.values())
    return means, min(kept, key=lambda name: kept[name][2] / spent + 0.5 * kept[name][1] / nll)


def test_means_and_the_chosen_cell(grid: Results) -> None:
    table = tuning_grid(grid)
    assert table is not None
    found = read(to_latex(table))
    groups = {"F1": (0, "steps"), "NLL": (1, "steps"), "Optimiser steps": (2, "steps"),
              "Training seconds": (2, "training_time")}  # fmt: skip
    for at, column in enumerate(table.columns[1:], start=1):
        measure, cost = groups[column.group]
        means, chosen = by_hand(grid, cost)
        k = int(column.title.removeprefix("k = "))
        for row, shades, e in zip(table.rows(), found.shades, EPSILONS, strict=True):
            assert row[at].numbers == pytest.approx((means[e, k][measure],))
            assert row[at].chosen == ((e, k) == chosen)
            assert (shades[at] == "gray!25") == ((e, k) == chosen)


def test_the_choice_by_each_cost(grid: Results) -> None:
    table = tuning_choice(grid)
    assert table is not None
    for row, cost in zip(table.rows(), ("steps", "training_time"), strict=True):
        _, chosen = by_hand(grid, cost)
        assert (row[2].numbers[0], row[3].numbers[0]) == chosen
        low, high = row[7].numbers[0], row[8].numbers[0]
        assert low is not None
        assert low <= 0.5
        assert high is None or high >= 0.5


def test_a_setting_that_lacks_a_cell_takes_it_from_all(grid: Results) -> None:
    runs = grid.runs
    lacks = (runs["schedule"] == "hybrid:alpha:0.0001:2") & (runs["seed"] == 44) & (runs["task"] == "imdb")
    table = tuning_grid(replace(grid, runs=runs[~lacks]))
    assert table is not None
    assert "over 5 runs of each setting" in table.caption
