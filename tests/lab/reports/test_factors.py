from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hybridal.errors import UserError
from hybridal.lab.reports.factor_tables import comparisons
from hybridal.lab.reports.factors import balanced, matched_values, varied_factors
from hybridal.lab.reports.standard_catalogue import standard_catalogue
from hybridal.lab.reports.study_report import all_figures, all_tables
from hybridal.lab.study.study_results import Results, results
from hybridal.lab.write_study_report import write_study_report

from ...reports.drawn import xs, ys
from .example import made_up_study

FEW: dict[str, Any] = {"tasks": ("imdb",), "seeds": (1, 2, 3), "rounds": 3}


@pytest.fixture(scope="module")
def two_acquisitions(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One schedule with two acquisitions, on one task."""
    path = tmp_path_factory.mktemp("study") / "mine"
    return results(made_up_study(path, schedules=("retrain",), acquisitions=("margin", "random"), **FEW))


def test_only_factors_with_several_levels_are_compared(two_acquisitions: Results) -> None:
    assert varied_factors(two_acquisitions.runs) == ["acquisition"]
    table = comparisons(two_acquisitions)
    assert table is not None
    assert [section.keys for section in table.sections] == [
        ("Acquisition", measure) for measure in ("Test F1", "Test NLL", "Optimiser steps", "Training seconds")
    ]
    ((name, reference, pairs, difference, *_),) = table.sections[0].rows
    assert (name.text, reference.text, pairs.value) == ("Random", "Margin", 3)
    runs = two_acquisitions.runs.set_index(["acquisition", "seed"])["test_f1"]
    assert difference.value == pytest.approx((runs["random"] - runs["margin"]).mean())


def test_pairs_agree_in_all_other_factors(tmp_path: Path) -> None:
    found = results(
        made_up_study(tmp_path / "s", schedules=("retrain", "finetune"), acquisitions=("margin", "random"), **FEW)
    )
    assert varied_factors(found.runs) == ["schedule", "acquisition"]
    mine, other = matched_values(found.endpoints, "schedule", "finetune", "retrain", "f1")
    by_run = found.runs.set_index(["schedule", "acquisition", "seed"])["test_f1"]
    assert mine == [by_run["finetune", name, seed] for name in ("margin", "random") for seed in (1, 2, 3)]
    assert other == [by_run["retrain", name, seed] for name in ("margin", "random") for seed in (1, 2, 3)]


def test_means_are_over_runs_that_every_level_has(two_acquisitions: Results) -> None:
    runs = two_acquisitions.runs
    unfinished = replace(two_acquisitions, runs=runs[(runs["acquisition"] == "margin") | (runs["seed"] == 2)])
    fair = balanced(unfinished, "acquisition")
    assert fair is not None
    assert sorted(zip(fair.runs["acquisition"], fair.runs["seed"], strict=True)) == [("margin", 2), ("random", 2)]
    assert set(fair.rounds["seed"]) == {2}
    nothing = replace(two_acquisitions, runs=runs[(runs["acquisition"] == "margin") ^ (runs["seed"] == 2)])
    assert balanced(nothing, "acquisition") is None


def test_curves_end_at_the_means_of_the_last_round(two_acquisitions: Results) -> None:
    figures = all_figures(two_acquisitions, standard_catalogue())
    assert [*figures] == ["f1-by-acquisition", "nll-by-acquisition", "cost-by-acquisition"]
    (axes,) = figures["f1-by-acquisition"].figure.axes
    rounds = two_acquisitions.rounds
    split = "test" if rounds["test_f1"].notna().all() else "validation"
    last = rounds[rounds["round"] == 3].groupby("acquisition")[f"{split}_f1"].mean().to_dict()
    assert {line.get_label(): ys(line)[-1] for line in axes.get_lines()} == pytest.approx(last)
    steps = two_acquisitions.runs.groupby("acquisition")["steps"].mean().to_dict()
    (plane,) = figures["cost-by-acquisition"].figure.axes
    assert {line.get_label(): xs(line)[0] for line in plane.get_lines()} == pytest.approx(steps)


def test_a_study_of_ones_own_gets_no_table_of_the_paper(two_acquisitions: Results) -> None:
    assert list(all_tables(two_acquisitions, standard_catalogue())) == [
        "dataset-sizes", "datasets", "endpoint-f1", "endpoint-nll", "endpoint-ece", "endpoint-cost", "comparisons"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "catalogue", "paper"),
    [("mine", None, False), ("mine", "paper", True), ("main", None, True), ("main", "standard", False)],
)
def test_the_paper_s_catalogue_is_added_for_its_presets_or_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, catalogue: str | None, paper: bool
) -> None:
    monkeypatch.setattr("hybridal.lab.reports.factor_figures.factor_figures", lambda _: ())
    monkeypatch.setattr("hybridal.lab.paper.figures.figures", lambda _: ())
    folder = made_up_study(tmp_path / "s", schedules=("retrain", "finetune"), **FEW)
    object.__setattr__(folder.study, "name", name)
    write_study_report(folder, catalogue)
    tables = {path.stem for path in (tmp_path / "s" / "report" / "tables").glob("*.csv")}
    assert "comparisons" in tables
    assert ("savings" in tables) == paper


def test_an_unknown_catalogue_is_refused(tmp_path: Path) -> None:
    folder = made_up_study(tmp_path / "s", schedules=("retrain",), **FEW)
    with pytest.raises(UserError, match="`catalogue` must be standard or paper, not 'papers'"):
        write_study_report(folder, "papers")
