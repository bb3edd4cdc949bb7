"""`hybridal report`: the report of a run or a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(folder: Annotated[Path, typer.Argument(help="A run folder or a comparison folder.")]) -> None:
    """Write report.html again from the records."""
    from hybridal.lab.study.comparison import Comparison
    from hybridal.reports.run_report import write_comparison, write_report
    from hybridal.runs.record import RunFolder

    if Comparison.is_one(folder):
        compared = Comparison.open(folder)
        typer.echo(
            write_comparison(compared.histories(), compared.schedules, compared.folder.about(), compared.folder.report)
        )
    else:
        typer.echo(write_report(RunFolder.open(folder)))
