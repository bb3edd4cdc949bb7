from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybridal.evidence.results import Results
from hybridal.evidence.table import Table
from hybridal.evidence.write import to_latex
from hybridal.paper.tables import TABLES
from hybridal.paper.tables.choices import samplers

from ...evidence.example import example
from ..latex_reader import read


def test_the_ablation_has_every_measure_and_fire_rates_of_hybrids_alone(
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


def test_the_summary_says_what_a_signal_looks_at(tables: dict[str, Table], runs: pd.DataFrame) -> None:
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


def test_samplers() -> None:
    results = example(
        acquisitions=("entropy", "badge"), tasks=("imdb",), seeds=(1, 2), rounds=2, schedules=("retrain", "fixed:2")
    )
    table = samplers(results)
    assert table is not None
    assert [row[0].text for row in table.sections[0].rows] == ["Entropy", "Entropy", "BADGE", "BADGE"]
    assert samplers(example()) is None


def test_a_plain_study_has_no_variations(tables: dict[str, Table]) -> None:
    assert not set(VARIED) & set(tables)
