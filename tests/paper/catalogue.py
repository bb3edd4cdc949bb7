"""The tables and figures of a study folder."""

from __future__ import annotations

from hybridal.evidence import study_report
from hybridal.evidence.results import results
from hybridal.evidence.style import Drawn
from hybridal.evidence.table import Table
from hybridal.paper import catalogue
from hybridal.study.folder import StudyFolder


def all_tables(folder: StudyFolder) -> dict[str, Table]:
    return study_report.all_tables(results(folder), catalogue())


def all_figures(folder: StudyFolder) -> dict[str, Drawn]:
    return study_report.all_figures(results(folder), catalogue())
