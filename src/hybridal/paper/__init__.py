"""The paper's own catalogue: its tables, its figures and its published numbers, from any study that has the data.

It plugs into `hybridal.evidence`, which knows nothing of it; other studies may bring a catalogue of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybridal.errors import UserError

if TYPE_CHECKING:
    from hybridal.evidence.results import Results
    from hybridal.evidence.study_report import Catalogue
    from hybridal.evidence.table import Table
    from hybridal.study.folder import StudyFolder

FRONT = ("savings", "equal-labels", "against-paper", "tuning-choice", "signal-summary", "noninferiority")


def catalogue() -> Catalogue:
    """All tables and figures, in the order of the paper."""
    from hybridal.evidence.study_report import Catalogue
    from hybridal.paper.figures import figures
    from hybridal.paper.tables import TABLES

    return Catalogue(TABLES, figures, FRONT)


def write_paper_report(folder: StudyFolder, against_published: bool = False) -> Path:
    """Writes a study's report with this catalogue, where asked with the published numbers beside the measured ones."""
    from hybridal.evidence.study_report import write_study_report
    from hybridal.paper.published import against_paper

    def compared(results: Results) -> Table:
        table = against_paper(results)
        if table is None:
            raise UserError(f"--against paper: no complete run in {folder.path} is of a cell that the paper reports.")
        return table

    return write_study_report(folder, catalogue(), {"against-paper": compared} if against_published else {})
