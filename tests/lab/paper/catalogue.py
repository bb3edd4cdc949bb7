"""The tables and figures of a study folder."""

from __future__ import annotations

from hybridal.lab.paper import paper_catalogue
from hybridal.lab.reports import study_report
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_results import results
from hybridal.reports.figure_style import Drawn
from hybridal.reports.report_table import Table


def all_tables(folder: StudyFolder) -> dict[str, Table]:
    return study_report.all_tables(results(folder), paper_catalogue())


def all_figures(folder: StudyFolder) -> dict[str, Drawn]:
    return study_report.all_figures(results(folder), paper_catalogue())
