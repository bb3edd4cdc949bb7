"""Write the report of a study, with the catalogue that fits it."""

from __future__ import annotations

from pathlib import Path

from hybridal.errors import UserError
from hybridal.lab.paper import against_table, paper_catalogue
from hybridal.lab.reports.standard_catalogue import standard_catalogue
from hybridal.lab.reports.study_report import write_with_catalogue
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_presets import PAPER_PRESETS

CATALOGUES = ("standard", "paper")


def write_study_report(folder: StudyFolder, catalogue: str | None = None, against_published: bool = False) -> Path:
    """Write `report.html`, and the tables and figures as files.

    Args:
        folder: The study folder; complete runs are reported.
        catalogue: `standard` for curves, costs and paired comparisons of the factors that the study varies; `paper` to
            add the tables and figures of the paper. By default `paper` for the paper's presets, else `standard`.
        against_published: Add a table that compares with the numbers of the paper.

    Returns:
        The path of the page.

    Raises:
        UserError: If there is no such catalogue, or no complete run is of a cell that the paper reports.
    """
    check_catalogue(catalogue)
    chosen = standard_catalogue()
    if catalogue == "paper" or (catalogue is None and folder.study.name in PAPER_PRESETS):
        chosen += paper_catalogue()
    return write_with_catalogue(folder, chosen, {"against-paper": against_table} if against_published else {})


def check_catalogue(name: str | None) -> None:
    """Refuse an unknown catalogue; None is the default one."""
    if name is not None and name not in CATALOGUES:
        raise UserError(f"`catalogue` must be {' or '.join(CATALOGUES)}, not '{name}'.", field="catalogue")
