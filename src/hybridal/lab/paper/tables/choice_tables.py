"""Tables of studies that vary one setting: a protocol field, the acquisition, the signal, or its ε and k."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from hybridal.lab.reports.method_grid import (
    COST,
    EPOCHS,
    F1,
    FIRE_RATE,
    NLL,
    SECONDS_NOTE,
    STEPS,
    T_STAR,
    Measure,
    sectioned,
    seed_count,
    setting_keys,
    settings,
    task_grid,
)
from hybridal.lab.reports.study_report import MakeTable
from hybridal.lab.statistics.ranks import spearman
from hybridal.lab.statistics.tuning import QUALITY, Pair, Tuned, choose, grids
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_results import FINETUNE, RETRAIN, Results, complete_runs, rules, values, variant_name
from hybridal.reports.display_names import acquisition_name
from hybridal.reports.number_formats import NONE, fixed, threshold
from hybridal.reports.report_table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one, rate, table_of
from hybridal.signals import Signal, signal_title

Variant = Mapping[str, Any]
# The table that is about a field of the protocol, and what the field is called there.
FIELDS = {
    "initial": ("pool-size", "Initial labels"),
    "batch": ("batch-size", "Labels a round"),
    "candidates": ("subset-size", "Candidates"),
    "validation_size": ("validation-size", "Validation texts"),
    "dropout": ("dropout", "Dropout"),
    "calibrate": ("calibrated-acquisition", "Scaled before acquisition"),
}
_STOPPING = frozenset({"max_epochs", "stop_after"})
_TUNED = (Measure("F1", QUALITY[0], fixed(3)), Measure("NLL", QUALITY[1], fixed(3)), *COST)
# Fewer settings are no grid.
_MIN_SETTINGS = 3


def varied(name: str) -> MakeTable:
    """Return the function that makes this table for studies that vary its subject, and None for others.

    Args:
        name: The field of the protocol that is varied; `early-stopping` for fields that decide when training stops, and
            `variants` for everything else.
    """

    def table(results: Results) -> Table | None:
        about, heading, label_of = _about(results.folder.study)
        if about != name:
            return None
        return _by(
            results, name, "variant", heading, {variant_name(one): label_of(one) for one in results.folder.study.vary}
        )

    return table


def _about(study: Study) -> tuple[str, str, Callable[[Variant], str]]:
    """Return the name of the table that compares a study's variants, its heading for them, and their labels.

    The name is that of no table if the variants do not differ.
    """
    named = {name for variant in study.vary for name in variant}
    fields = {name for name in named if len({repr(variant.get(name, ...)) for variant in study.vary}) > 1}
    if fields and fields <= _STOPPING:
        return "early-stopping", "Training", _stopping
    if len(fields) == 1 and (field := min(fields)) in FIELDS:
        return *FIELDS[field], lambda variant: _value(variant.get(field, "as it is"))
    return "variants" if fields else "", "Variant", lambda variant: variant_name(variant) or "as it is"


def samplers(results: Results) -> Table | None:
    """Return the table that compares acquisitions."""
    acquisitions = results.folder.study.acquisitions
    if len(acquisitions) < 2:
        return None
    labels = {name: acquisition_name(name) for name in acquisitions}
    return _by(results, "samplers", "acquisition", "Acquisition", labels)


def _by(results: Results, name: str, factor: str, heading: str, labels: Mapping[str, str]) -> Table | None:
    runs, split = results.endpoints, results.split
    if runs.empty:
        return None
    caption = (
        f"By {heading[:1].lower()}{heading[1:]}: mean ± std over {seed_count(runs)}; t* is over the runs that fired. "
        f"{SECONDS_NOTE}"
    )
    measures = (F1.on(split), NLL.on(split), *COST, EPOCHS, FIRE_RATE, T_STAR)
    return task_grid(name, caption, measures, runs, {factor: heading, "schedule": "Method"}, labels)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else "all" if value is None else str(value)


def _stopping(variant: Variant) -> str:
    epochs, patience = variant.get("max_epochs"), variant.get("stop_after", "?")
    if patience is None:
        return f"{epochs} epochs" if epochs is not None else "no early stopping"
    parts = [f"≤ {epochs} epochs"] if epochs is not None else []
    return ", ".join([*parts, *([f"patience {patience}"] if patience != "?" else [])]) or "as it is"


def signal_ablation(results: Results) -> Table | None:
    """Return F1, NLL, cost, fire rate and switch round per signal and task."""
    runs = _compared(results)
    if runs is None:
        return None
    caption = (
        f"Signals, each in a hybrid schedule of its own: mean ± std over {seed_count(runs)}, share of runs that fired, "
        f"and the switch round of those. {SECONDS_NOTE}"
    )
    measures = (F1.on(results.split), NLL.on(results.split), *COST, FIRE_RATE, T_STAR)
    return task_grid("signal-ablation", caption, measures, runs)


def signal_summary(results: Results) -> Table | None:
    """Return, per signal, what it measures, how often it fired and when."""
    runs = _compared(results)
    if runs is None:
        return None

    def lines(members: pd.DataFrame) -> Iterator[Row]:
        for spec, rule in rules(results.specs).items():
            mine = members[members["schedule"] == spec]
            words = [rule.signal.title, _kind(rule.signal), rule.signal.looks_at or NONE]
            asked = [one(rule.detector.epsilon, threshold), one(rule.detector.patience, fixed(0))]
            fired = rate(values(mine, "fired")), mean_of(values(mine, "t_star"), fixed(1)) if len(mine) else MISSING
            yield (*map(Entry, words), *asked, *fired)

    columns = [*map(Column, ("Signal", "Kind", "Looks at")), Column("ε", ONE), Column("k", ONE)]
    columns += [Column("Fire rate", MEAN), Column("Switch round t*", MEAN)]
    caption = "Signals over all tasks and seeds: the share of runs that fired, and the mean switch round of those."
    return sectioned("signal-summary", caption, columns, runs, lines)


def _kind(signal: Signal) -> str:
    """Return whether a signal measures predictions or the model itself."""
    if not signal.looks_at:
        return NONE
    return "performance" if signal.needs_validation and not signal.needs_features else "model"


def _compared(results: Results) -> pd.DataFrame | None:
    """Return the runs of Retrain, FineTune and the hybrids if there are several signals with one setting each."""
    watching = rules(results.specs)
    signals = {rule.signal.name for rule in watching.values()}
    if len(signals) < 2 or len(signals) < len(watching):
        return None
    runs = results.endpoints
    return runs[runs["schedule"].isin([RETRAIN, FINETUNE, *watching])]


def signal_correlations(results: Results) -> Table | None:
    """Return Spearman's ρ between the signals that Retrain's runs recorded."""
    trunks = [history for _, spec, history in complete_runs(results.folder) if spec == RETRAIN]
    records = [record for history in trunks for record in history]
    shared = [
        name for name in (trunks[0][-1].changes if trunks else ()) if all(name in record.changes for record in records)
    ]
    if len(shared) < 2:
        return None
    changes = pd.DataFrame([record.changes for record in records])[shared].dropna().astype(float)
    rows: list[Row] = [
        (Entry(name), *(one(value, fixed(2)) for value in line))
        for name, line in zip(shared, spearman(changes), strict=True)
    ]
    caption = (
        f"Spearman's ρ between the signals' changes, over {len(changes)} rounds of {len(trunks)} Retrain runs. Rounds "
        "of a run are no independent draws, so there is no p."
    )
    columns = [Column("Signal"), *(Column(name, ONE) for name in shared)]
    return table_of("signal-correlations", caption, columns, [((), rows)])


def _grids(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the grid of each signal with at least three settings, over the cells that have all of them."""
    found = {f"HybridAL {signal_title(name)}": grid for name, grid in grids(runs, paired=True).items()}
    return {title: grid for title, grid in found.items() if len(grid) >= _MIN_SETTINGS}


def _chosen(grid: pd.DataFrame, cost: Measure) -> Tuned[Pair] | None:
    """Return what the rule chooses by a cost; None if a value is missing."""
    taken = (grid[[*QUALITY, cost.column]] > 0).all(axis=None)
    return choose(grid, cost.column) if taken else None


def tuning_grid(results: Results) -> Table | None:
    """Return mean validation F1, NLL and cost of each (ε, k); the rule's choice is shaded."""
    endpoints = results.endpoints
    found = [((*keys, title), grid) for keys, members in settings(endpoints) for title, grid in _grids(members).items()]
    if not found:
        return None
    patiences = sorted({k for _, grid in found for _, k in grid.index})
    columns = [Column("ε", ONE), *(Column(f"k = {k}", ONE, measure.title) for measure in _TUNED for k in patiences)]
    sections = [(keys, _grid_lines(grid, patiences)) for keys, grid in found]
    runs = found[0][1]["runs"].iloc[0]
    caption = (
        f"(ε, k) grid: means after the last round over {runs} runs of each setting, F1 and NLL on "
        "validation. Shaded is what the rule chooses: of the settings with 99.5% of the highest F1, the least cost / "
        "lowest cost + 0.5 NLL / lowest NLL, by counted steps; among the seconds, what it chooses by seconds. "
        f"{SECONDS_NOTE}"
    )
    return table_of("tuning-grid", caption, columns, sections, (*setting_keys(endpoints), "Signal"))


def _grid_lines(grid: pd.DataFrame, patiences: Sequence[int]) -> list[Row]:
    chosen = {measure: _chosen(grid, measure if measure in COST else STEPS) for measure in _TUNED}
    rows: list[Row] = []
    for epsilon in sorted({epsilon for epsilon, _ in grid.index}):
        entries = [one(epsilon, threshold)]
        for measure, selection in chosen.items():
            for k in patiences:
                value = grid[measure.column].get((epsilon, k))
                entry = MISSING if value is None or pd.isna(value) else one(float(value), measure.shown)
                picked = selection is not None and selection.chosen == (epsilon, k)
                entries.append(replace(entry, chosen=picked and entry is not MISSING))
        rows.append(tuple(entries))
    return rows


def tuning_choice(results: Results) -> Table | None:
    """Return the rule's choice by each cost, and the range of weights λ with the same choice."""

    def lines(members: pd.DataFrame) -> Iterator[Row]:
        for title, grid in _grids(members).items():
            for cost in COST:
                if (chosen := _chosen(grid, cost)) is not None:
                    yield (Entry(title), Entry(cost.title), *_choice(chosen))

    titles = ("ε", "k", "Candidates", "Score", "Runner-up", "λ from", "λ to")
    caption = (
        "The rule's choice (λ = 0.5) by counted steps and by seconds: how many settings reach 99.5% of the highest F1, "
        f"its score and the next best one, and the λ for which it stays. {SECONDS_NOTE}"
    )
    columns = [Column("Signal"), Column("Cost"), *(Column(title, ONE) for title in titles)]
    return sectioned("tuning-choice", caption, columns, results.endpoints, lines)


def _choice(found: Tuned[Pair]) -> Row:
    scores = sorted(found.scores)
    return (
        one(found.chosen[0], threshold),
        one(found.chosen[1], fixed(0)),
        one(len(found.candidates), fixed(0)),
        one(found.score, fixed(3)),
        one(scores[1] if len(scores) > 1 else None, fixed(3)),
        one(found.lam_low, fixed(3)),
        Entry("∞" if found.lam_high is None else fixed(3)(found.lam_high), (found.lam_high,)),
    )
