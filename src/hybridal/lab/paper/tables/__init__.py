"""The tables of the paper: each is a function of a study's results that returns None if the data are missing."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.lab.paper.tables.budget_tables import equal_labels
from hybridal.lab.paper.tables.choice_tables import (
    samplers,
    signal_ablation,
    signal_correlations,
    signal_summary,
    tuning_choice,
    tuning_grid,
    varied,
)
from hybridal.lab.paper.tables.comparison_tables import noninferiority, rank_tests, wins
from hybridal.lab.paper.tables.savings_and_calibration_tables import ece_by_round, savings, temperature
from hybridal.lab.paper.tables.switching_tables import post_switch, regret, switch_rounds
from hybridal.lab.paper.tables.text_tables import batch_classes, batch_overlap, batch_scores
from hybridal.lab.reports.dataset_tables import dataset_sizes, datasets
from hybridal.lab.reports.endpoint_tables import endpoint, endpoint_cost
from hybridal.lab.reports.method_grid import ECE, F1, NLL
from hybridal.lab.reports.study_report import MakeTable

# In the order of the paper.
TABLES: Mapping[str, MakeTable] = {
    "dataset-sizes": dataset_sizes,
    "datasets": datasets,
    **{f"endpoint-{measure.column}": endpoint(f"endpoint-{measure.column}", measure) for measure in (F1, NLL, ECE)},
    "endpoint-cost": endpoint_cost,
    "equal-labels": equal_labels,
    "savings": savings,
    "noninferiority": noninferiority,
    "rank-tests": rank_tests,
    "wins": wins,
    "switch-rounds": switch_rounds,
    "post-switch": post_switch,
    "temperature": temperature,
    "ece-by-round": ece_by_round,
    "batch-overlap": batch_overlap,
    "batch-classes": batch_classes,
    "batch-scores": batch_scores,
    "signal-summary": signal_summary,
    "signal-ablation": signal_ablation,
    "signal-correlations": signal_correlations,
    "tuning-grid": tuning_grid,
    "tuning-choice": tuning_choice,
    **{name: varied(name) for name in ("pool-size", "batch-size", "subset-size", "validation-size", "early-stopping")},
    **{name: varied(name) for name in ("dropout", "calibrated-acquisition")},
    "samplers": samplers,
    "variants": varied("variants"),
    "regret": regret,
}
