from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.lab.statistics.tuning import Setting, select, tune
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_results import Results

Point = tuple[float, int]
PATIENCE = (2, 3, 5, 7)
# The paper's tuning grid: by ε, for k = 2, 3, 5 and 7, mean validation F1, mean validation NLL and seconds.
ALPHA = {
    5e-5: ((0.858, 0.857, 0.855, 0.855), (0.447, 0.385, 0.370, 0.370), (290.8, 318.0, 331.9, 322.5)),
    1e-4: ((0.854, 0.865, 0.856, 0.855), (0.492, 0.455, 0.388, 0.370), (246.3, 284.8, 313.7, 320.8)),
    1.5e-4: ((0.855, 0.855, 0.858, 0.855), (0.498, 0.511, 0.435, 0.370), (214.3, 229.4, 289.3, 320.9)),
    2e-4: ((0.855, 0.855, 0.859, 0.861), (0.498, 0.511, 0.436, 0.416), (214.3, 229.3, 278.9, 302.3)),
}
ACCURACY = {
    0.005: ((0.857, 0.858, 0.855, 0.850), (0.391, 0.400, 0.370, 0.375), (275.3, 408.1, 646.9, 642.3)),
    0.01: ((0.856, 0.861, 0.856, 0.856), (0.448, 0.436, 0.403, 0.388), (519.1, 528.0, 569.5, 592.6)),
    0.015: ((0.855, 0.857, 0.855, 0.857), (0.461, 0.483, 0.426, 0.393), (473.3, 481.4, 558.0, 578.1)),
    0.02: ((0.859, 0.855, 0.855, 0.857), (0.487, 0.482, 0.431, 0.395), (433.3, 476.8, 541.2, 556.1)),
}


def grid_of(table: Mapping[float, tuple[tuple[float, ...], ...]]) -> list[Setting[Point]]:
    return [
        Setting((epsilon, k), f1, nll, cost)
        for epsilon, columns in table.items()
        for k, f1, nll, cost in zip(PATIENCE, *columns, strict=True)
    ]


def test_the_papers_choice_for_alpha() -> None:
    found = select(grid_of(ALPHA))
    assert found.chosen == (1e-4, 3)
    assert found.candidates == ((1e-4, 3), (2e-4, 7))
    assert found.scores == pytest.approx([1.546, 1.561], abs=1e-3)  # the table is rounded
    assert found.ties == ((1e-4, 3),)


def test_the_papers_choice_for_accuracy() -> None:
    found = select(grid_of(ACCURACY))
    assert found.chosen == (0.005, 2)
    assert len(found.candidates) == 7
    assert found.score == 1.5
    assert (found.lam_low, found.lam_high) == (0.0, None)


def test_the_choice_for_alpha_does_not_last_to_seven_tenths() -> None:
    """The paper says it is stable over [0.3, 0.7]. By its own table another setting takes over at 0.656."""
    grid = grid_of(ALPHA)
    found = select(grid)
    assert found.lam_low == 0
    assert found.lam_high == pytest.approx((302.3 / 284.8 - 1) / (0.455 / 0.416 - 1), rel=1e-12)
    assert select(grid, lam=0.7).chosen == (2e-4, 7)
    # Nor does the rounding of the table explain it: the most favourable digits behind the printed ones.
    kind = [Setting((1e-4, 3), 0.865, 0.4545, 284.75), Setting((2e-4, 7), 0.861, 0.4165, 302.35)]
    assert select(kind, lam=0.7).chosen == (2e-4, 7)


settings_ = st.lists(
    st.tuples(st.integers(90, 100), st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=10
).map(lambda rows: [Setting(at, f1 / 100, nll / 10, float(cost)) for at, (f1, nll, cost) in enumerate(rows)])
weights = st.integers(0, 60).map(lambda n: n / 20)


def scores_of(grid: list[Setting[int]], lam: float, share: float = 0.95) -> dict[int, float]:
    kept = [one for one in grid if one.f1 >= share * max(other.f1 for other in grid) - 1e-12]
    cost, nll = min(one.cost for one in kept), min(one.nll for one in kept)
    return {one.name: one.cost / cost + lam * one.nll / nll for one in kept}


@given(settings_, weights)
def test_choice_has_the_lowest_score(grid: list[Setting[int]], lam: float) -> None:
    found, known = select(grid, lam, 0.95), scores_of(grid, lam)
    least = min(known.values())
    assert found.candidates == tuple(known)
    assert found.scores == pytest.approx(list(known.values()))
    assert found.ties == tuple(name for name, score in known.items() if score <= least + 1e-9)
    assert found.chosen == min(found.ties, key=lambda name: (grid[name].cost, grid[name].nll))
    assert found.lam_low <= lam
    assert found.lam_high is None or lam <= found.lam_high


@given(settings_, weights, st.floats(0, 1))
def test_the_choice_holds_inside_its_range_and_changes_outside(grid: list[Setting[int]], lam: float, at: float) -> None:
    found = select(grid, lam, 0.95)
    high = found.lam_low + 5 if found.lam_high is None else found.lam_high
    inner = scores_of(grid, found.lam_low + at * (high - found.lam_low))
    assert inner[found.chosen] <= min(inner.values()) + 1e-9
    if found.lam_high is not None:
        assert select(grid, found.lam_high + 1e-6, 0.95).score < scores_of(grid, found.lam_high + 1e-6)[found.chosen]
    if found.lam_low > 1e-6:
        assert select(grid, found.lam_low - 1e-6, 0.95).score < scores_of(grid, found.lam_low - 1e-6)[found.chosen]


@given(settings_, weights, st.integers(1, 9))
def test_seconds_or_steps(grid: list[Setting[int]], lam: float, unit: int) -> None:
    counted = [Setting(one.name, one.f1, one.nll, one.cost * unit) for one in grid]
    assert select(counted, lam) == select(grid, lam)


def test_rounding_decides_no_tie() -> None:
    assert 0.995 * 0.89 > 0.88555
    grid = [Setting("top", 0.89, 0.5, 10.0), Setting("edge", 0.88555, 0.5, 5.0)]
    assert select(grid).chosen == "edge"


def test_ties_are_reported_and_the_cheapest_is_taken() -> None:
    grid = [Setting("calm", 0.9, 0.4, 120.0), Setting("fast", 0.9, 0.5, 100.0), Setting("fast too", 0.9, 0.5, 100.0)]
    found = select(grid, lam=0.8)
    assert (found.ties, found.chosen, found.lam_high) == (("calm", "fast", "fast too"), "fast", 0.8)
    free = select([Setting("a", 0.9, 0.5, 1.0), Setting("b", 0.9, 0.4, 1.0)], lam=0)
    assert (free.ties, free.chosen, free.lam_high) == (("a", "b"), "b", None)


def test_one_setting_is_chosen_for_every_weight() -> None:
    found = select([Setting("only", 0.0, 0.5, 3)], lam=2)
    assert (found.chosen, found.score, found.lam_low, found.lam_high) == ("only", 3.0, 0.0, None)


@pytest.mark.parametrize(
    ("f1", "nll", "cost"),
    [(math.nan, 1, 1), (0.5, math.nan, 1), (0.5, 0, 1), (0.5, 1, 0), (0.5, 1, math.inf), (-1, 1, 1)],
)
def test_broken_settings_are_named(f1: float, nll: float, cost: float) -> None:
    with pytest.raises(UserError, match="of x"):
        select([Setting("good", 0.5, 1, 1), Setting("x", f1, nll, cost)])


def test_invalid_weight_is_refused() -> None:
    for lam in (-0.1, math.nan, math.inf):
        with pytest.raises(UserError, match="λ must be 0 or more"):
            select([Setting("good", 0.5, 1, 1)], lam=lam)


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


def test_study_without_grid_is_refused() -> None:
    with pytest.raises(UserError, match="nothing to tune"):
        tune(runs(GRID[:2] + GRID[-1:]))
    with pytest.raises(UserError, match="nothing to tune"):
        tune(Results(pd.DataFrame(), pd.DataFrame(), FOLDER))
    with pytest.raises(UserError, match="--cost must be one of steps, seconds"):
        tune(runs(GRID), cost="euros")  # type: ignore[arg-type]
