"""The catalogue of every study's report: tables and figures for whatever factors the study varies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hybridal.lab.reports.dataset_tables import dataset_sizes, datasets
from hybridal.lab.reports.endpoint_tables import endpoint, endpoint_cost
from hybridal.lab.reports.factor_tables import comparisons
from hybridal.lab.reports.method_grid import ECE, EXACT_MATCH, F1, MICRO_F1, NLL
from hybridal.lab.reports.study_report import Catalogue
from hybridal.lab.study.study_results import Results

if TYPE_CHECKING:
    from hybridal.reports.figure_style import Drawn

TABLES = {
    "dataset-sizes": dataset_sizes,
    "datasets": datasets,
    "endpoint-f1": endpoint("endpoint-f1", F1),
    "endpoint-micro-f1": endpoint("endpoint-micro-f1", MICRO_F1),
    "endpoint-exact-match": endpoint("endpoint-exact-match", EXACT_MATCH),
    "endpoint-nll": endpoint("endpoint-nll", NLL),
    "endpoint-ece": endpoint("endpoint-ece", ECE),
    "endpoint-cost": endpoint_cost,
    "comparisons": comparisons,
}
FRONT = ("endpoint-f1", "endpoint-micro-f1", "endpoint-exact-match", "comparisons")


def standard_catalogue() -> Catalogue:
    """Return the tables and figures that assume nothing about the study."""
    return Catalogue(TABLES, _figures, FRONT)


def _figures(results: Results) -> Iterable[tuple[str, Drawn | None]]:
    from hybridal.lab.reports.factor_figures import factor_figures  # loads matplotlib

    return factor_figures(results)
