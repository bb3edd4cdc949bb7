from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from hybridal.errors import UserError
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.tuning import tune
from hybridal.study.folder import StudyFolder
from hybridal.study.study import Study

FOLDER = StudyFolder(Path("nowhere"), Study("empty", ("trec",), ("retrain",)))


def runs(rows: list[tuple[str, float, float, int, float]]) -> Results:
    columns = ["schedule", "validation_f1", "validation_nll", "steps", "training_time"]
    return Results(pd.DataFrame(rows, columns=columns), pd.DataFrame(), FOLDER)


GRID = [
    ("hybrid:accuracy:0.005:2", 0.90, 0.40, 300, 10.0),
    ("hybrid:accuracy:0.005:2", 0.92, 0.44, 320, 10.0),
    ("hybrid:accuracy:0.02:2", 0.91, 0.60, 200, 40.0),
    ("hybrid:accuracy:0.02:2", 0.91, 0.60, 200, 40.0),
    ("hybrid:accuracy:0.02:7", 0.80, 0.10, 100, 1.0),
    ("retrain", 0.99, 0.10, 1, 1.0),
]


def test_means_over_cells_then_the_two_stages() -> None:
    found = tune(runs(GRID), lam=0.5, cost="steps")["accuracy"]
    # (0.02, 7) is the cheapest and calmest, but not within 0.5% of the top F1; retrain has no (ε, k).
    assert set(found.candidates) == {(0.005, 2), (0.02, 2)}
    scores = {(0.005, 2): 310 / 200 + 0.5 * 0.42 / 0.42, (0.02, 2): 1 + 0.5 * 0.60 / 0.42}
    assert found.chosen == min(scores, key=lambda pair: scores[pair]) == (0.02, 2)
    assert found.score == pytest.approx(scores[0.02, 2])


def test_seconds_can_decide_otherwise_than_steps() -> None:
    assert tune(runs(GRID), cost="seconds")["accuracy"].chosen == (0.005, 2)


def test_nothing_to_tune_is_said() -> None:
    with pytest.raises(UserError, match="nothing to tune"):
        tune(runs(GRID[:2] + GRID[-1:]))
    with pytest.raises(UserError, match="nothing to tune"):
        tune(Results(pd.DataFrame(), pd.DataFrame(), FOLDER))
    with pytest.raises(UserError, match="--cost must be one of steps, seconds"):
        tune(runs(GRID), cost="euros")  # type: ignore[arg-type]
