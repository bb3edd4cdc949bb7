"""A signal and a schedule of another package show up in reports with their names and their switch."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from hybridal.lab.paper import paper_catalogue
from hybridal.lab.reports.study_report import all_figures
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_results import results
from hybridal.reports.display_names import schedule_of, style_of
from hybridal.reports.run_report import comparison_table, run_page

from ...reports.made_up_rounds import ABOUT
from . import studies

PACKAGE = """
from dataclasses import dataclass
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import Rule, Schedule
from hybridal.signals import Signal
from hybridal.updates.finetune import FineTune
from hybridal.updates.retrain import Retrain

@dataclass(frozen=True)
class Heat(Signal):
    name, title, epsilon, patience, looks_at = "heat", "ΔHeat", 0.012, 2, "a thermometer"

@dataclass(frozen=True)
class Patient(Schedule):
    name, spec, title, watches = "patient", "patient", "Patient", (Heat(),)

    @property
    def rule(self):
        return Rule(Heat(), Stabilisation(0.012, 2))

    def decide(self, history, label_changes=None):
        return Retrain() if self.t_star(history) is None else FineTune()
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "foreign_parts.py").write_text(PACKAGE, encoding="utf-8")
    info = tmp_path / "foreign_parts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-parts\nVersion: 1.0\n")
    points = "[hybridal.signals]\nheat = foreign_parts:Heat\n[hybridal.schedules]\npatient = foreign_parts:Patient\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "foreign_parts", raising=False)
    monkeypatch.setitem(studies.SIGNALS, "heat", 0.02)


@pytest.mark.usefixtures("installed")
def test_components_of_other_packages_are_shown_by_name(tmp_path: Path) -> None:
    specs = ("retrain", "finetune", "patient", "hybrid:accuracy:0.03:1")
    study = Study("foreign", ("imdb",), specs, seeds=(1, 2, 3), overrides={"rounds": 12})
    folder = studies.write_study(tmp_path / "study", study)
    found = results(folder)
    own = found.runs[found.runs["schedule"] == "patient"]
    assert own["t_star"].notna().any()
    assert own["t_star"].fillna(12).tolist() == [sequence.count("R") for sequence in own["update_sequence"]]
    tables, figures = paper_catalogue().tables, all_figures(found, paper_catalogue())
    switches, signals = tables["switch-rounds"](found), tables["signal-summary"](found)
    assert switches is not None
    assert "Patient MiniLM" in [column.name for column in switches.columns]
    assert signals is not None
    summary = [entry.text for entry in signals.sections[0].rows[0]]
    assert summary[:5] == ["ΔHeat", "model", "a thermometer", "0.012", "2"]
    assert figures["control-heat"].heading == "How ΔHeat decides"
    assert "Patient" in figures["f1-by-round"].alt

    history, schedule = folder.histories(folder.cells[0])["patient"], schedule_of("patient")
    page = run_page(history, schedule, ABOUT)
    assert page.title.startswith("Patient on ")
    assert "he signal 'heat'" in " ".join(page.story)
    assert any(panel.title == "When the model settled: ΔHeat" for panel in page.panels)
    (row,) = comparison_table({"patient": history}, {"patient": schedule}).rows()
    assert row[-2].value == schedule.t_star(history)
    assert style_of("patient").token == "hybrid"
