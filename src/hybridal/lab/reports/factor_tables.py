"""Paired comparisons of the levels of each factor that a study varies."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from hybridal.lab.reports.factors import COMPARED, level_names, matched_values, varied_factors
from hybridal.lab.reports.method_grid import COST, F1, NLL, SECONDS_NOTE, Measure
from hybridal.lab.reports.paired_tests import TESTS_NOTE, Compared, comparison_columns, comparison_rows
from hybridal.lab.study.study_results import Results
from hybridal.reports.report_table import Row, Table, table_of

if TYPE_CHECKING:
    import pandas as pd

# With more levels than this only the first one is a reference: 25 schedules would make 300 pairs.
MAX_LEVELS_FOR_ALL_PAIRS = 5


def comparisons(results: Results) -> Table | None:
    """Compare the levels of each varied factor over runs that agree in all other factors; None if none varies."""
    runs = results.endpoints
    measures = (F1.among(runs).on(results.split), NLL.on(results.split), *COST)
    sections = [
        ((COMPARED[factor], measure.title), _compared(runs, factor, measure))
        for factor in varied_factors(runs)
        for measure in measures
    ]
    caption = (
        "Levels of each factor that the study varies, compared over the runs that agree in all other factors: mean "
        f"difference; {TESTS_NOTE} Seeds of a task resemble each other: the tests hold for these tasks. {SECONDS_NOTE}"
    )
    return table_of("comparisons", caption, comparison_columns("Level"), sections, ("Factor", "Measure"))


def _compared(runs: pd.DataFrame, factor: str, measure: Measure) -> list[Row]:
    names = level_names(runs, factor)
    levels = list(names)
    pairs = combinations(levels, 2) if len(levels) <= MAX_LEVELS_FOR_ALL_PAIRS else ((levels[0], x) for x in levels[1:])
    compared: list[Compared] = []
    for reference, new in pairs:
        mine, other = matched_values(runs, factor, new, reference, measure.column)
        if mine:
            compared.append((names[new], names[reference], (mine, other)))
    return comparison_rows(compared, measure)
