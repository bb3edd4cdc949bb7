"""The report of a study: one page, and its tables and figures as files."""

from __future__ import annotations

from pathlib import Path

from hybridal.errors import UserError
from hybridal.evidence.page import render
from hybridal.evidence.paper import against_paper
from hybridal.evidence.results import results
from hybridal.evidence.study_figures import all_figures, save
from hybridal.evidence.study_page import study_page
from hybridal.evidence.tables import all_tables
from hybridal.evidence.tables.write import write_tables
from hybridal.study.folder import StudyFolder
from hybridal.system.files import write_whole


def write_study_report(folder: StudyFolder, compare_paper: bool = False) -> Path:
    """Writes `report.html`, which needs nothing else, and `report/tables` and `report/figures` beside it."""
    found = results(folder)
    tables = all_tables(folder) if len(found.runs) else {}
    if compare_paper:
        table = against_paper(found)
        if table is None:
            raise UserError(f"--against paper: no complete run in {folder.path} is of a cell that the paper reports.")
        tables = {"against-paper": table, **tables}
    figures = all_figures(folder) if len(found.runs) else {}
    write_tables(tables, folder.path / "report" / "tables")
    save(figures, folder.path / "report" / "figures")
    target = folder.path / "report.html"
    write_whole(target, render(study_page(folder, found, tables, figures)))
    return target
