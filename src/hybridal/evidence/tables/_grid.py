"""The shape that most tables have: tasks across, methods down, a section for each setting and measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.statistics.paired import paired_test
from hybridal.evidence.tables._entries import mean_of, ranked, rate
from hybridal.evidence.tables._runs import RETRAIN, Run, distinct, paired, those, values
from hybridal.evidence.tables.measures import Measure
from hybridal.evidence.tables.names import acquisition_name, backbone_name, task_names
from hybridal.evidence.tables.table import MEAN, Column, Entry, Row, Section, Table

ALPHA = 0.05
STAR_NOTE = "* p < 0.05 against Retrain (paired t-test over seeds, two-sided, not corrected for there being several)."
MEAN_NOTE = "Mean: over all (task, seed) pairs, where a method has all of them; its star speaks for these tasks only."
_FACTORS = {"backbone": "Backbone", "acquisition": "Acquisition", "variant": "Variant"}


@dataclass(frozen=True)
class Grid:
    """How to lay out runs: `by` are the factors that name a row, `labels` how their values read."""

    name: str
    caption: str
    measures: tuple[Measure, ...]
    by: tuple[str, ...] = ("schedule",)
    headings: tuple[str, ...] = ("Method",)
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)

    def table(self, rows: Sequence[Run]) -> Table | None:
        """None where no run has any of the measures."""
        tasks = distinct(rows, "task")
        columns = [Column(heading) for heading in self.headings]
        names = [*task_names(tasks).values(), *(["Mean"] if len(tasks) > 1 else [])]
        columns += [Column(name, (*MEAN, "p")) for name in names]
        keys = (*setting_keys(rows, self.by), *(["Measure"] if len(self.measures) > 1 else []))
        sections = []
        for setting, members in settings(rows, self.by):
            for measure in self.measures:
                lines = self._rows(members, measure, tasks)
                if lines:
                    said = (measure.arrow,) if len(self.measures) > 1 else ()
                    sections.append(Section((*setting, *said), tuple(lines)))
        if not sections:
            return None
        notes = [self.caption]
        starred = any("*" in entry.marks for section in sections for row in section.rows for entry in row)
        notes += [STAR_NOTE] if starred else []
        notes += [MEAN_NOTE] if len(tasks) > 1 else []
        return Table(self.name, " ".join(notes), tuple(columns), tuple(sections), keys)

    def _rows(self, rows: Sequence[Run], measure: Measure, tasks: Sequence[str]) -> list[Row]:
        names = {"schedule": distinct_names(distinct(rows, "schedule")), **self.labels}
        lines: list[Row] = []
        known = [row for row in rows if row[measure.column] is not None]
        for chosen in product(*(distinct(rows, name) for name in self.by)):
            factors = dict(zip(self.by, chosen, strict=True))
            mine = those(known, **factors)
            if not mine:
                continue
            reference = those(known, **{**factors, "schedule": RETRAIN})
            entries = [_entry(those(mine, task=task), reference, measure) for task in tasks]
            if len(tasks) > 1:
                whole = _pairs(those(rows, **factors)) == _pairs(rows)
                entries.append(_entry(mine if whole else [], reference, measure))
            words = [Entry(names.get(name, {}).get(value, str(value))) for name, value in factors.items()]
            lines.append((*words, *entries))
        return ranked(lines, range(len(self.by), len(self.by) + len(tasks) + (len(tasks) > 1)), measure.higher)


def _entry(mine: Sequence[Run], reference: Sequence[Run], measure: Measure) -> Entry:
    """Mean and spread over seeds, starred where the pairs differ."""
    p = None
    if mine and mine[0]["schedule"] != RETRAIN:
        p = paired_test(*paired(mine, reference, measure.column)).p
    numbers = values(mine, measure.column)
    entry = rate(numbers, p) if measure.column == "fired" else mean_of(numbers, measure.shown, p)
    return replace(entry, marks="*") if p is not None and p < ALPHA else entry


def _pairs(rows: Sequence[Run]) -> set[tuple[str, int]]:
    return {(row["task"], row["seed"]) for row in rows}


def setting_keys(rows: Sequence[Run], but: Sequence[str] = ()) -> tuple[str, ...]:
    """The headings of what `settings` tells apart: the backbone, and what else varies."""
    return tuple(title for name, title in _FACTORS.items() if _tells(rows, name, but))


def settings(rows: Sequence[Run], but: Sequence[str] = ()) -> Iterator[tuple[tuple[str, ...], list[Run]]]:
    """The runs of each setting, with its name; `but` are factors that rows of the table tell apart."""
    names = [name for name in _FACTORS if _tells(rows, name, but)]
    for chosen in product(*(distinct(rows, name) for name in names)):
        factors = dict(zip(names, chosen, strict=True))
        members = those(rows, **factors)
        if members:
            yield tuple(_said(name, value) for name, value in factors.items()), members


def _tells(rows: Sequence[Run], name: str, but: Sequence[str]) -> bool:
    return name not in but and (name == "backbone" or len(distinct(rows, name)) > 1)


def _said(name: str, value: str) -> str:
    says = {"backbone": backbone_name, "acquisition": acquisition_name}
    return says[name](value) if name in says else value or "as it is"
