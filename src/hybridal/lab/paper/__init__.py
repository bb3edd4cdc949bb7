"""The paper's own catalogue: its tables, its figures and its published numbers, from any study that has the data.

It extends `hybridal.lab.reports`, which does not depend on it; other studies can define their own catalogue.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybridal.errors import UserError

if TYPE_CHECKING:
    from hybridal.lab.reports.study_report import Catalogue
    from hybridal.lab.study.study_folder import StudyFolder
    from hybridal.lab.study.study_results import Results
    from hybridal.reports.report_table import Table

FRONT = ("savings", "equal-labels", "against-paper", "tuning-choice", "signal-summary", "noninferiority")


def catalogue() -> Catalogue:
    """All tables and figures, in the order of the paper."""
    from hybridal.lab.paper.figures import figures
    from hybridal.lab.paper.tables import TABLES
    from hybridal.lab.reports.study_report import Catalogue

    return Catalogue(TABLES, figures, FRONT)


def write_paper_report(folder: StudyFolder, against_published: bool = False) -> Path:
    """Writes a study's report with this catalogue, where asked with the published numbers beside the measured ones."""
    from hybridal.lab.paper.published import against_paper
    from hybridal.lab.reports.study_report import write_study_report

    def compared(results: Results) -> Table:
        table = against_paper(results)
        if table is None:
            raise UserError(f"--against paper: no complete run in {folder.path} is of a cell that the paper reports.")
        return table

    return write_study_report(folder, catalogue(), {"against-paper": compared} if against_published else {})
