"""Studies that vary one setting of the paper's protocol, from results/findings.parquet: their runs by its value.

The runs with the default value are those of the study `findings`, for the same tasks and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.claims import ACCURACY, ALPHA, FINETUNE, KEY, RETRAIN
from bench.elsewhere import among
from bench.round_records import CELL, Cell, runs
from bench.settling import rules_of, whose
from bench.tables import bounds
from hybridal.core.rules import protocol

# What each study varies: a field of the protocol, or for `samplers` how labels are chosen.
VARIED = {
    "pool-size": "initial",
    "batch-size": "batch",
    "samplers": "acquisition",
    "subset-size": "candidates",
    "validation-size": "validation_size",
}
OWN = next(spec for spec in rules_of("alpha") if whose(spec) == "own")
SWITCHES = {"Δα": ALPHA, "Δα with its own ε": OWN, "ΔAcc": ACCURACY}
# Fewest cells for an interval: with two, Student's t gives 12.7 standard errors.
FEWEST = 6


@dataclass(frozen=True)
class Sizes:
    """The complete runs of a study by the varied value, from small to large; empty if nothing was computed.

    `cells` is of how many tasks and seeds it has any round.
    """

    usual: str
    cells: int
    runs: Mapping[str, pd.DataFrame]

    @property
    def others(self) -> list[str]:
        return [size for size in self.runs if size != self.usual]

    def of(self, size: str, spec: str) -> pd.DataFrame:
        """The ends of a schedule, by cell."""
        ends = self.runs[size]
        return ends[ends["schedule"] == spec].set_index(KEY).sort_index()

    def moved(self, size: str, spec: str) -> pd.Series[float]:
        """The effect of a size on a schedule's F1, in the cells that have both this and the default size."""
        return (self.of(size, spec)["test_f1"] - self.of(self.usual, spec)["test_f1"]).dropna()

    def whole(self, own: pd.DataFrame) -> str:
        """The number of cells, and of how many if some are missing, because they may then be no fair sample."""
        return str(len(own)) if len(own) == self.cells else f"{len(own)} of {self.cells}"


def study_of(cell: Cell) -> str | None:
    """The study of a cell, also if it was computed in parts (`batch-size-a`)."""
    return next((study for study in VARIED if cell.named["study"].startswith(study)), None)


def by_size(cells: Sequence[Cell], usual: pd.DataFrame) -> dict[str, Sizes]:
    """All of these studies, computed or not; `usual` are runs under the protocol as it is."""
    return {study: _sizes(study, [cell for cell in cells if study_of(cell) == study], usual) for study in VARIED}


def _sizes(study: str, cells: Sequence[Cell], usual: pd.DataFrame) -> Sizes:
    value = "entropy" if study == "samplers" else getattr(protocol("paper"), VARIED[study])
    default = "all" if value is None else str(value)
    begun = pd.DataFrame([cell.named for cell in cells], columns=CELL).drop_duplicates(KEY)
    own, found = runs(cells, [RETRAIN, FINETUNE, *SWITCHES.values()]), {}
    if len(own):
        size = own["acquisition"] if study == "samplers" else own["variant"].str.partition("=")[2]
        found = {**{str(each): ends for each, ends in own.groupby(size)}, default: among(usual, begun)}
    order = sorted(found, key=lambda each: (int(each) if each.isdigit() else math.inf, each != default))
    return Sizes(_number(default), len(begun), {_number(each): found[each] for each in order})


def _number(size: str) -> str:
    return f"{int(size):,}" if size.isdigit() else size


def shown(
    values: pd.Series[float], shape: str, confidence: float = 0.975, back: Callable[[float], float] = float
) -> str:
    """A mean with its interval, or of few cells with its range.

    >>> [shown(pd.Series(values), ".1f") for values in ([1, 2, 3, 4, 5, 6], [1, 2], [1], [])]
    ['3.5 [1.5, 5.5]', '1.5 (1.0 to 2.0)', '1.0', '–']
    """
    enough = len(values) >= FEWEST
    parts = bounds(values, confidence) if enough else (values.mean(), values.min(), values.max())
    mean, low, high = (format(back(part), shape) for part in parts)
    if len(values) < 2:
        return mean if len(values) else "–"
    return f"{mean} [{low}, {high}]" if enough else f"{mean} ({low} to {high})"
