"""Tables of the last round: quality and cost for each method and task."""

from __future__ import annotations

from collections.abc import Callable

from hybridal.lab.reports import method_grid as grid
from hybridal.lab.study.study_results import Results
from hybridal.reports.report_table import Table


def endpoint(name: str, measure: grid.Measure) -> Callable[[Results], Table | None]:
    """Return the function that makes the table of one measure after the last round."""

    def table(results: Results) -> Table | None:
        if results.runs.empty:
            return None
        runs = results.endpoints
        shown, seeds = measure.among(runs).on(results.split), grid.seed_count(runs)
        caption = f"{shown.arrow} after the last round per method and task: mean ± std over {seeds}."
        return grid.task_grid(name, caption, (shown,), runs)

    return table


def endpoint_cost(results: Results) -> Table | None:
    """Cost of whole runs: optimiser steps, seconds, and epochs per round."""
    if results.runs.empty:
        return None
    seeds = grid.seed_count(results.runs)
    caption = f"Cost of a whole run per method and task: mean ± std over {seeds}. {grid.SECONDS_NOTE}"
    return grid.task_grid("endpoint-cost", caption, (*grid.COST, grid.EPOCHS), results.endpoints)
