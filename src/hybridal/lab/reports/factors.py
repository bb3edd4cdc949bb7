"""The factors that a study varies, and the runs that differ in one of them only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hybridal.lab.study.study_results import FACTORS, Results, paired
from hybridal.reports.display_names import STYLES, Style, acquisition_name, backbone_name, distinct_names, style_of

if TYPE_CHECKING:
    import pandas as pd

# Factors whose levels a report compares. Tasks and seeds are what the comparison is repeated on.
COMPARED = {"schedule": "Schedule", "acquisition": "Acquisition", "backbone": "Backbone", "variant": "Variant"}
# Colours and markers for the levels of a factor that has no styles. A page knows these colours in its dark theme.
_LEVEL_STYLES = ("retrain", "finetune", "hybrid-alpha", "hybrid-accuracy", "anchor", "replay", "newonly", "refit")


def varied_factors(runs: pd.DataFrame) -> list[str]:
    """Return the compared factors that have two levels or more.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"schedule": "retrain", "acquisition": ["margin", "random"], "backbone": "tiny"})
    >>> varied_factors(runs.assign(variant=""))
    ['acquisition']
    """
    return [factor for factor in COMPARED if runs[factor].nunique() > 1]


def level_names(runs: pd.DataFrame, factor: str) -> dict[str, str]:
    """Return the display name of each level of a factor, in the order of the study."""
    levels = [str(level) for level in runs[factor].unique()]
    if factor == "schedule":
        return distinct_names(levels)
    name = {"acquisition": acquisition_name, "backbone": backbone_name}.get(factor, str)
    return {level: name(level) or "unchanged" for level in levels}


def level_styles(levels: Sequence[str], factor: str) -> dict[str, Style]:
    """Return a colour and marker for each level; schedules keep their own."""
    if factor == "schedule":
        return {level: style_of(level) for level in levels}
    return {level: STYLES[_LEVEL_STYLES[at % len(_LEVEL_STYLES)]] for at, level in enumerate(levels)}


def matched_values(
    runs: pd.DataFrame, factor: str, new: str, reference: str, column: str
) -> tuple[list[float], list[float]]:
    """Return a column for two levels of a factor, pair by pair: runs that agree in all other factors."""
    others = [name for name in FACTORS if name != factor]
    return paired(runs[runs[factor] == new], runs[runs[factor] == reference], column, others)


def balanced(results: Results, factor: str) -> Results | None:
    """Return the runs that exist for every level of a factor, so that means over them are fair; None if there are none.

    An unfinished study has runs of some levels only.
    """
    others = [name for name in FACTORS if name != factor]
    levels = results.runs.groupby(others, sort=False)[factor].nunique()
    complete = levels[levels == results.runs[factor].nunique()].reset_index()[others]
    if complete.empty:
        return None
    return replace(
        results, runs=results.runs.merge(complete, on=others), rounds=results.rounds.merge(complete, on=others)
    )
