from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from hybridal.evidence.results import Results
from hybridal.evidence.write import to_latex
from hybridal.paper.tables.choices import tuning_choice, tuning_grid

from ...evidence.example import example
from ..latex_reader import read

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
