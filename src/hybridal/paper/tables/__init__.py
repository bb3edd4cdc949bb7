"""The tables of the paper, each a function of a study's results that is None where the study cannot answer."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.evidence.grid import ECE, F1, NLL
from hybridal.evidence.study_report import MakeTable
from hybridal.paper.tables.budgets import equal_labels
from hybridal.paper.tables.choices import (
    samplers,
    signal_ablation,
    signal_correlations,
    signal_summary,
    tuning_choice,
    tuning_grid,
    varied,
)
from hybridal.paper.tables.comparisons import noninferiority, rank_tests, wins
from hybridal.paper.tables.endpoints import ece_by_round, endpoint, endpoint_cost, savings, temperature
from hybridal.paper.tables.switching import post_switch, regret, switch_rounds
from hybridal.paper.tables.texts import batch_classes, batch_overlap, batch_scores, dataset_sizes, datasets

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
