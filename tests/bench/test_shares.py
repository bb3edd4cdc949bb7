from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench import shares
from bench.shares import Population, coverage, known, projects
from hybridal.measures.objective import SingleLabel
from hybridal.measures.shares.groups import By, group_by
from hybridal.measures.shares.share_table import Line
from hybridal.randomness import stream


def population(size: int = 240) -> Population:
    rng = stream(3, "population")
    labels = rng.integers(0, 2, size)
    features = (labels[:, None] + rng.normal(size=(size, 4))).astype(np.float32)
    branches = group_by([f"branch {at % 2}" for at in range(size)], By("branch"))
    months = group_by([f"2024-0{1 + at % 3}-15" for at in range(size)], By("sent", "month"))
    return Population("made up", ("a", "b"), SingleLabel(2), labels, features, branches, months)


def test_a_project_counts_which_intervals_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "PROJECTS", 2)
    found = pd.DataFrame([*projects(population(), 24, 0)])
    assert found["drawn"].unique().tolist() == [100, 216]  # of 300 that are asked for there are no more
    kinds = coverage(found, ["kind"])
    assert kinds.loc["share", "intervals"] == 4
    assert kinds.loc["group", "intervals"] == 2 * 2 * (2 + 3)
    assert ((kinds["coverage"] >= 0) & (kinds["coverage"] <= 1)).all()
    assert {*shares.tables(found)} == {"share_kinds", "share_tasks", "share_sizes"}


def test_the_truth_of_a_line_is_that_of_the_labels() -> None:
    made = population()
    answers = np.zeros((240, 2), dtype=bool)
    labels, odd = made.labels == 1, np.arange(240) % 2 == 1

    def true(kind: str, group: str = "") -> float:
        line = Line(kind, group, "", "b", 240, 100, 0.5, None, None)  # type: ignore[arg-type]
        return known(line, made, made.months if kind == "trend" else made.branches, answers, 1)[0]

    assert true("share") == pytest.approx(labels.mean())
    assert true("share", "branch 1") == pytest.approx(labels[odd].mean())
    assert true("difference", "branch 1") == pytest.approx(labels[odd].mean() - labels[~odd].mean())
    assert true("trend") == pytest.approx(np.polyfit(np.arange(240) % 3, labels, 1)[0])
