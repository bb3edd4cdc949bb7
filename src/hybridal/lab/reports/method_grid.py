"""The layout of most tables: tasks across, methods down, a section for each setting and measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

from hybridal.lab.statistics.paired import paired_p
from hybridal.lab.study.study_results import CELL, RETRAIN, paired, values
from hybridal.reports.display_names import acquisition_name, backbone_name, distinct_names, task_names
from hybridal.reports.number_formats import Shown, fixed, percent, seconds
from hybridal.reports.report_table import MEAN, Column, Entry, Row, Table, mean_of, ranked, rate, table_of

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
STAR_NOTE = "* p < 0.05 against Retrain (paired t-test over seeds, two-sided, not corrected for there being several)."
MEAN_NOTE = "Mean: over all (task, seed) pairs, where a method has all of them; its star is valid for these tasks only."
SECONDS_NOTE = "Seconds compare only within one machine; optimiser steps are counted and compare anywhere."
_FACTORS = {"backbone": "Backbone", "acquisition": "Acquisition", "variant": "Variant"}


@dataclass(frozen=True)
class Measure:
    """A column of the runs with its title. `higher` tells whether more is better; None if neither is."""

    title: str
    column: str
    shown: Shown
    higher: bool | None = False

    @property
    def arrow(self) -> str:
        """The title with the better direction, as in `F1 (higher is better)`."""
        return self.title if self.higher is None else f"{self.title} ({'higher' if self.higher else 'lower'} is better)"

    def among(self, runs: pd.DataFrame) -> Measure:
        """The measure; F1 as macro-F1 if texts of a run may have several labels, which have a micro-F1 too."""
        several = self.column == "f1" and runs["micro_f1"].notna().any()
        return replace(self, title="macro-F1") if several else self

    def on(self, split: str) -> Measure:
        """The measure, with the split that it was taken on, as in `Test F1`."""
        return replace(self, title=f"{split.capitalize()} {self.title}")


F1 = Measure("F1", "f1", fixed(3), higher=True)
MICRO_F1 = Measure("micro-F1", "micro_f1", fixed(3), higher=True)
EXACT_MATCH = Measure("exact match", "exact_match", percent(1), higher=True)
NLL = Measure("NLL", "nll", fixed(3))
ECE = Measure("ECE", "ece", percent(1))
STEPS = Measure("Optimiser steps", "steps", fixed(0))
SECONDS = Measure("Training seconds", "training_time", seconds)
EPOCHS = Measure("Epochs a round", "epochs_a_round", fixed(2))
FIRE_RATE = Measure("Fire rate", "fired", percent(), higher=None)
T_STAR = Measure("Switch round t*", "t_star", fixed(1), higher=None)

# The counted cost first, the seconds right after it.
COST = (STEPS, SECONDS)


def seed_count(runs: pd.DataFrame) -> str:
    """Return the number of seeds per schedule in words: `one seed`, `5 seeds`, `3 to 5 seeds`."""
    seeds = runs.groupby([*CELL[:-1], "schedule"]).size()
    fewest, most = int(seeds.min()), int(seeds.max())
    if fewest == most:
        return "one seed" if most == 1 else f"{most} seeds"
    return f"{fewest} to {most} seeds"


def task_grid(
    name: str,
    caption: str,
    measures: Sequence[Measure],
    runs: pd.DataFrame,
    by: Mapping[str, str] = MappingProxyType({"schedule": "Method"}),
    labels: Mapping[str, str] = MappingProxyType({}),
) -> Table | None:
    """Return a table with tasks across and methods down; None if no run has any of the measures.

    `by` maps the factors that name a row to their headings; `labels` maps values of the first factor to their names.
    """
    tasks, several = list(runs["task"].unique()), len(measures) > 1
    names = [*task_names(tasks).values(), *(["Mean"] if len(tasks) > 1 else [])]
    columns = [*map(Column, by.values()), *(Column(name, (*MEAN, "p")) for name in names)]
    sections = [
        ((*setting, *([measure.arrow] if several else [])), _lines(members, measure, tasks, list(by), labels))
        for setting, members in settings(runs, list(by))
        for measure in measures
    ]
    starred = any("*" in entry.marks for _, lines in sections for row in lines for entry in row)
    notes = [caption, *([STAR_NOTE] if starred else []), *([MEAN_NOTE] if len(tasks) > 1 else [])]
    keys = (*setting_keys(runs, list(by)), *(["Measure"] if several else []))
    return table_of(name, " ".join(notes), columns, sections, keys)


def _lines(
    runs: pd.DataFrame, measure: Measure, tasks: Sequence[str], by: Sequence[str], labels: Mapping[str, str]
) -> list[Row]:
    names = {by[0]: labels, "schedule": distinct_names(runs["schedule"].unique())}
    lines: list[Row] = []
    for chosen in product(*(runs[name].unique() for name in by)):
        factors = dict(zip(by, chosen, strict=True))
        all_of_it = with_factors(runs, factors)
        mine = all_of_it.dropna(subset=measure.column)
        if mine.empty:
            continue
        reference = with_factors(runs, {**factors, "schedule": RETRAIN})
        entries = [_entry(mine[mine["task"] == task], reference, measure) for task in tasks]
        if len(tasks) > 1:
            whole = _pairs(all_of_it) == _pairs(runs)
            entries.append(_entry(mine if whole else mine.iloc[:0], reference, measure))
        words = [Entry(names[name].get(value, str(value))) for name, value in factors.items()]
        lines.append((*words, *entries))
    return ranked(lines, range(len(by), len(by) + len(tasks) + (len(tasks) > 1)), measure.higher)


def _entry(mine: pd.DataFrame, reference: pd.DataFrame, measure: Measure) -> Entry:
    """Mean and spread over seeds, starred where the pairs differ."""
    p = None
    if len(mine) and mine["schedule"].iloc[0] != RETRAIN:
        p = paired_p(*paired(mine, reference, measure.column))
    numbers = values(mine, measure.column)
    entry = rate(numbers, p) if measure is FIRE_RATE else mean_of(numbers, measure.shown, p)
    return replace(entry, marks="*") if p is not None and p < ALPHA else entry


def _pairs(runs: pd.DataFrame) -> set[tuple[str, int]]:
    return {*zip(runs["task"], runs["seed"], strict=True)}


def with_factors(runs: pd.DataFrame, factors: Mapping[str, object]) -> pd.DataFrame:
    """Return the runs that have these values."""
    return runs[(runs[[*factors]] == [*factors.values()]).all(axis=1)] if factors else runs


def setting_keys(runs: pd.DataFrame, but: Sequence[str] = ()) -> tuple[str, ...]:
    """The headings of the keys of `settings`: the backbone, and whatever else varies."""
    return tuple(title for name, title in _FACTORS.items() if _distinguishes(runs, name, but))


def settings(runs: pd.DataFrame, but: Sequence[str] = ()) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Yield the runs of each setting with its name; `but` are factors that the rows of the table distinguish."""
    name_of = {"backbone": backbone_name, "acquisition": acquisition_name}
    names = [name for name in _FACTORS if _distinguishes(runs, name, but)]
    for chosen in product(*(runs[name].unique() for name in names)):
        factors = dict(zip(names, chosen, strict=True))
        members = with_factors(runs, factors)
        if len(members):
            yield tuple(name_of.get(name, str)(value) or "as it is" for name, value in factors.items()), members


def _distinguishes(runs: pd.DataFrame, name: str, but: Sequence[str]) -> bool:
    return name not in but and (name == "backbone" or runs[name].nunique() > 1)


def sectioned(
    name: str,
    caption: str,
    columns: Sequence[Column],
    runs: pd.DataFrame,
    lines: Callable[[pd.DataFrame], Iterable[Row]],
    but: Sequence[str] = (),
) -> Table | None:
    """Return a table with a section for each setting; `lines` makes the rows from its runs."""
    sections = [(keys, list(lines(members))) for keys, members in settings(runs, but)]
    return table_of(name, caption, columns, sections, setting_keys(runs, but))


def by_method(runs: pd.DataFrame, but: Sequence[str] = ()) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield spec, name and runs of each schedule, except those in `but`."""
    for spec, name in distinct_names(runs["schedule"].unique()).items():
        if spec not in but:
            yield spec, name, runs[runs["schedule"] == spec]
