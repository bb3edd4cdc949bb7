from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybridal.evidence.results import Results
from hybridal.evidence.table import Table
from hybridal.evidence.write import to_latex

from .latex_reader import read


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
