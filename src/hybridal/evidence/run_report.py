"""The report of a run, and of a comparison of schedules, as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridal.evidence.comparison_page import comparison_page
from hybridal.evidence.page import render
from hybridal.evidence.run_page import run_page
from hybridal.evidence.summary import Histories
from hybridal.schedules import Schedule, make_schedule
from hybridal.system.files import write_whole

if TYPE_CHECKING:
    from hybridal.runs.record import RunFolder


def write_report(folder: RunFolder) -> Path:
    """Writes `report.html` into a run's folder, whole; the run may still be going on."""
    about = folder.about()
    schedule = make_schedule(about["settings"]["schedule"])
    write_whole(folder.report, render(run_page(folder.history(), schedule, about)))
    return folder.report


def write_comparison(
    histories: Histories, schedules: Sequence[Schedule], about: Mapping[str, Any], target: Path
) -> Path:
    """Writes the report of several schedules of one cell; `histories` are by the schedules' specs."""
    write_whole(target, render(comparison_page(histories, schedules, about)))
    return target
