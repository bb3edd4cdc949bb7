"""Rows of paired tests: difference, signed-rank test with Holm's correction, t-test and effect sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hybridal.lab.reports.method_grid import ALPHA, Measure
from hybridal.lab.statistics.numbers import summary
from hybridal.lab.statistics.paired import paired_p
from hybridal.lab.statistics.ranks import effect, holm, signed_rank
from hybridal.reports.number_formats import fixed, p_value
from hybridal.reports.report_table import ONE, Column, Entry, Row, one

# The names of a level and of the level that it is compared with, and the values of both, pair by pair.
Compared = tuple[str, str, tuple[list[float], list[float]]]

TESTS_NOTE = (
    "Wilcoxon's signed-rank test, exact and two-sided, with Holm's correction over the comparisons of a measure "
    f"(* below {ALPHA:g}); the paired t-test; and effect sizes: d_z, the same without small-sample bias (g_z), "
    "Cliff's δ and the rank-biserial correlation."
)
_NUMBERS = ("Difference", "p (ranks)", "p (Holm)", "p (t)", "d_z", "g_z", "Cliff's δ", "Rank-biserial")


def comparison_columns(title: str) -> list[Column]:
    """The columns of `comparison_rows`; `title` names what the rows are."""
    return [Column(title), Column("Against"), Column("Pairs", ("n",)), *(Column(name, ONE) for name in _NUMBERS)]


def comparison_rows(compared: Sequence[Compared], measure: Measure) -> list[Row]:
    """One row for each comparison. Holm's correction is over all of them."""
    tests = [signed_rank(*pair) for _, _, pair in compared]
    return [_row(*found, measure) for found in zip(compared, tests, holm(tests), strict=True)]


def _row(compared: Compared, p: float | None, p_holm: float | None, measure: Measure) -> Row:
    name, reference, pair = compared
    size, found = effect(*pair), summary(*pair)
    corrected = one(p_holm, p_value)
    if p_holm is not None and p_holm < ALPHA:
        corrected = replace(corrected, marks="*")
    difference = one(found.mean, lambda value: f"{'+' if value > 0 else ''}{measure.shown(value)}")
    sizes = [one(value, fixed(2)) for value in (size.d_z, size.g_z, size.cliffs_delta, size.rank_biserial)]
    words = (Entry(name), Entry(reference), one(found.n, fixed(0)))
    return (*words, difference, one(p, p_value), corrected, one(paired_p(*pair), p_value), *sizes)
