"""The catalogue of the paper: its tables, its figures and its published numbers, for any study that has the data.

It extends `hybridal.lab.reports`, which does not depend on it; other packages can define their own catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridal.errors import UserError

if TYPE_CHECKING:
    from hybridal.lab.reports.study_report import Catalogue
    from hybridal.lab.study.study_results import Results
    from hybridal.reports.report_table import Table

FRONT = ("savings", "equal-labels", "against-paper", "tuning-choice", "signal-summary", "noninferiority")


def paper_catalogue() -> Catalogue:
    """Return all tables and figures, in the order of the paper."""
    from hybridal.lab.paper.figures import figures
    from hybridal.lab.paper.tables import TABLES
    from hybridal.lab.reports.study_report import Catalogue

    return Catalogue(TABLES, figures, FRONT)


def against_table(results: Results) -> Table:
    """Return the table that compares with the published numbers; refuse a study that has none of their cells."""
    from hybridal.lab.paper.published import against_paper

    table = against_paper(results)
    if table is None:
        raise UserError(
            f"--against paper: no complete run in {results.folder.path} is of a cell that the paper reports."
        )
    return table
