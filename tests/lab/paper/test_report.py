from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hybridal.errors import UserError
from hybridal.lab.paper import paper_catalogue
from hybridal.lab.paper.figures import figures
from hybridal.lab.reports.study_report import all_figures
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_results import results
from hybridal.lab.write_study_report import write_study_report

from ..reports.example import example, made_up_study


def test_the_page_is_whole_and_its_tables_and_figures_are_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each figure takes a second.
    monkeypatch.setattr("hybridal.lab.paper.figures.figures", lambda found: islice(figures(found), 1))
    folder = example().folder
    page = write_study_report(folder, "paper").read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page)
    assert "<script" not in page
    tables = {path.stem for path in (folder.path / "report" / "tables").glob("*.csv")}
    drawn = {path.stem for path in (folder.path / "report" / "figures").glob("*.svg")}
    assert {"endpoint-f1", "savings", "noninferiority"} <= tables
    assert drawn == {"f1-by-schedule", "nll-by-schedule", "cost-by-schedule", "f1-violins"}
    for name in tables:
        assert name.replace("-", " ") in page.lower()
        assert (folder.path / "report" / "tables" / f"{name}.tex").stat().st_size
    assert page.count("<figure") == len(drawn)
    for name in drawn:
        for ending in ("png", "pdf"):
            assert (folder.path / "report" / "figures" / f"{name}.{ending}").stat().st_size
    steps: pd.Series[float] = results(folder).runs.groupby("schedule")["steps"].mean()
    saved = 1 - steps["finetune"] / steps["retrain"]
    assert f"FineTune: {saved:.0%} fewer optimiser steps than Retrain" in page


def test_report_without_complete_cells_says_so(tmp_path: Path) -> None:
    folder = StudyFolder.create(tmp_path / "s", Study("<b>none", ("imdb",), ("retrain",)), {})
    page = write_study_report(folder, "paper").read_text(encoding="utf-8")
    assert "No run is complete yet" in page
    assert "<b>none" not in page
    with pytest.raises(UserError, match="--against paper: no complete run in"):
        write_study_report(folder, against_published=True)


def test_figures_of_two_acquisitions_are_drawn_separately(tmp_path: Path) -> None:
    few: dict[str, Any] = {"tasks": ("imdb",), "seeds": (1, 2), "schedules": ("retrain", "fixed:2"), "rounds": 3}
    both = all_figures(
        results(made_up_study(tmp_path / "both", acquisitions=("entropy", "badge"), **few)), paper_catalogue()
    )
    alone = all_figures(results(made_up_study(tmp_path / "alone", **few)), paper_catalogue())
    assert {f"{name}-{spec}" for name in alone for spec in ("entropy", "badge")} <= {*both}
    assert both["pareto-steps-badge"].heading == f"{alone['pareto-steps'].heading}, BADGE"
