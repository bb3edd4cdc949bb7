"""The tables of the paper, from any study that has the data: as data first, then as Markdown, CSV and LaTeX.

Each is a function of the results and the study folder, and None where the study cannot answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hybridal.evidence.results import Results, results
from hybridal.evidence.tables._reading import ReadOnce
from hybridal.evidence.tables.classes import batch_classes
from hybridal.evidence.tables.composition import batch_overlap, batch_scores
from hybridal.evidence.tables.correlations import signal_correlations
from hybridal.evidence.tables.datasets import dataset_sizes, datasets
from hybridal.evidence.tables.ece import ece_by_round
from hybridal.evidence.tables.endpoint import endpoint_cost, endpoint_ece, endpoint_f1, endpoint_nll
from hybridal.evidence.tables.noninferiority import noninferiority
from hybridal.evidence.tables.ranks import rank_tests
from hybridal.evidence.tables.regret import regret
from hybridal.evidence.tables.savings import savings
from hybridal.evidence.tables.signals import signal_ablation, signal_summary
from hybridal.evidence.tables.stability import post_switch
from hybridal.evidence.tables.switching import switch_rounds
from hybridal.evidence.tables.table import Table
from hybridal.evidence.tables.temperature import temperature
from hybridal.evidence.tables.tuning import tuning_choice, tuning_grid
from hybridal.evidence.tables.variations import (
    batch_size,
    calibrated_acquisition,
    dropout,
    early_stopping,
    pool_size,
    samplers,
    subset_size,
    validation_size,
    variants,
)
from hybridal.evidence.tables.wins import wins
from hybridal.study.folder import StudyFolder

MakeTable = Callable[[Results, StudyFolder], Table | None]

_FUNCTIONS: tuple[MakeTable, ...] = (
    dataset_sizes,
    datasets,
    endpoint_f1,
    endpoint_nll,
    endpoint_ece,
    endpoint_cost,
    savings,
    noninferiority,
    rank_tests,
    wins,
    switch_rounds,
    post_switch,
    temperature,
    ece_by_round,
    batch_overlap,
    batch_classes,
    batch_scores,
    signal_summary,
    signal_ablation,
    signal_correlations,
    tuning_grid,
    tuning_choice,
    pool_size,
    batch_size,
    subset_size,
    validation_size,
    early_stopping,
    dropout,
    calibrated_acquisition,
    samplers,
    variants,
    regret,
)
TABLES: Mapping[str, MakeTable] = {function.__name__.replace("_", "-"): function for function in _FUNCTIONS}


def all_tables(folder: StudyFolder) -> dict[str, Table]:
    """Every table that the study has the data for, by its name, in the order of the paper.

    >>> from hybridal.evidence.tables._example import example
    >>> list(all_tables(example()[1]))[:4]
    ['dataset-sizes', 'datasets', 'endpoint-f1', 'endpoint-nll']
    """
    once = ReadOnce(folder)
    found = results(once)
    made = {name: make(found, once) for name, make in TABLES.items()}
    return {name: table for name, table in made.items() if table is not None}
