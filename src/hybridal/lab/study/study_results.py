"""The results of a study as two DataFrames: one row per run, and one row per round of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from hybridal.core.rounds import Metrics, MultiLabelMetrics, Round
from hybridal.errors import UserError
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.trie import histories
from hybridal.reports.display_names import schedule_of
from hybridal.reports.history_summary import COUNTED, total_cost
from hybridal.schedules import Rule, switched_after

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("accuracy", "f1", "nll", "ece", "brier", "nll_scaled", "ece_scaled")
# With several labels per text, `accuracy` is the share of exact matches and `f1` macro-F1.
MULTI_LABEL_MEASURES = ("micro_f1", "lrap", "hamming")
CELL = ["task", "backbone", "acquisition", "variant", "seed"]
FACTORS = (*CELL, "schedule")
RETRAIN, FINETUNE = "retrain", "finetune"
# Columns of the cost of a run.
COSTS = {"steps": "steps", "seconds": "training_time"}
Cost = Literal["steps", "seconds"]
Run = dict[str, Any]
# What `Results.endpoints` takes from the measures of a split, and its other columns that studies without runs lack.
_SPLIT_MEASURES = ("f1", "nll", "ece", "nll_scaled", "ece_scaled")
_ENDPOINTS = (*_SPLIT_MEASURES, "micro_f1", "temperature", "steps", "t_star", "fired")


@dataclass(frozen=True)
class Results:
    """The complete runs of a study. Both frames identify a run by its factors.

    The column `variant` lists the protocol fields in which cells differ ("" if none do). Costs are sums over the rounds
    of a run, shared or not. `t_star` and `first_finetune` are missing if a run never switched.

    Attributes:
        runs: One row per complete run.
        rounds: One row per round of these runs.
        folder: The study folder, for rounds, texts and settings.
    """

    runs: pd.DataFrame
    rounds: pd.DataFrame
    folder: StudyFolder = field(compare=False)

    @cached_property
    def endpoints(self) -> pd.DataFrame:
        """The runs, with what tables show of them: `f1`, `nll`, `ece` and so on are those of `split`.

        Seconds that were not measured are missing, not zero. `fired` is 1 or 0 for runs whose schedule has a signal.

        Raises:
            UserError: If two runs have the same factors.
        """
        if self.runs.empty:
            return self.runs.reindex(columns=[*FACTORS, *_ENDPOINTS])
        runs, missing = self.runs, float("nan")
        for double in runs.loc[runs.duplicated([*FACTORS]), [*FACTORS]].itertuples(index=False, name=None):
            raise UserError(f"Two runs of this study are both called {double}; give their tasks different names.")
        micro_f1 = runs.get(f"{self.split}_micro_f1")
        watching = runs["schedule"].isin([*rules(self.specs)])
        return runs.assign(
            **{name: runs[f"{self.split}_{name}"] for name in _SPLIT_MEASURES},
            micro_f1=missing if micro_f1 is None else micro_f1,
            exact_match=missing if micro_f1 is None else runs[f"{self.split}_accuracy"].where(micro_f1.notna()),
            **{name: runs[name].where(runs[name] != 0) for name in ("training_time", "seconds")},
            epochs_a_round=runs["epochs"] / runs["rounds"],
            fired=runs["t_star"].notna().astype(float).where(watching),
        )

    @property
    def split(self) -> str:
        """The split that runs are compared on: test, unless none was measured there."""
        return "test" if len(self.runs) and self.runs["test_f1"].notna().any() else "validation"

    @property
    def specs(self) -> list[str]:
        """All schedules, in the study's order."""
        return [str(spec) for spec in self.runs["schedule"].unique()] if len(self.runs) else []


def results(folder: StudyFolder) -> Results:
    """Read all complete runs of a study, each file once."""
    import pandas as pd

    once = folder if isinstance(folder, ReadOnce) else ReadOnce(folder)
    runs: list[Run] = []
    rounds: list[Run] = []
    for cell, spec, history in complete_runs(once):
        run = factors(cell, spec)
        runs.append({**run, **run_row(spec, history)})
        rounds.extend({**run, **round_row(record)} for record in history)
    return Results(pd.DataFrame(runs), pd.DataFrame(rounds), once)


def complete_runs(folder: StudyFolder) -> list[tuple[CellPlan, str, Sequence[Round]]]:
    """Return every complete run with its cell and its schedule."""
    return [
        (cell, spec, history)
        for cell in folder.cells
        for spec, history in folder.histories(cell).items()
        if len(history) == cell.settings.rules.rounds
    ]


class ReadOnce(StudyFolder):
    """A study folder that caches what it reads; use it for one report, then discard it."""

    def __init__(self, folder: StudyFolder) -> None:
        super().__init__(folder.path, folder.study, folder.device)
        self._rounds: dict[str, dict[str, Round]] = {}
        self._histories: dict[str, dict[str, tuple[Round, ...]]] = {}

    def rounds_by_sequence(self, cell: CellPlan) -> dict[str, Round]:
        if cell.key not in self._rounds:
            self._rounds[cell.key] = super().rounds_by_sequence(cell)
        return self._rounds[cell.key]

    def histories(self, cell: CellPlan) -> dict[str, tuple[Round, ...]]:
        if cell.key not in self._histories:
            schedules = [schedule_of(spec) for spec in cell.schedules]
            self._histories[cell.key] = histories(self.rounds_by_sequence(cell), schedules, cell.settings.rules.rounds)
        return self._histories[cell.key]


def factors(cell: CellPlan, spec: str) -> dict[str, Any]:
    """Return the values that identify a run within its study."""
    asked = cell.settings
    values = (asked.task, asked.backbone, asked.acquisition_spec, variant_name(cell.variant), asked.seed, spec)
    return dict(zip(FACTORS, values, strict=True))


def variant_name(variant: Mapping[str, Any]) -> str:
    """Return the name of a variant, such as `initial=50`; None is written `candidates=all`."""
    return ", ".join(f"{name}={'all' if value is None else value}" for name, value in variant.items())


def run_row(spec: str, history: Sequence[Round]) -> Run:
    """Return the last measures of a run, its cost, and when it switched."""
    last, cost = history[-1], total_cost(history)
    return {
        **_measures("test", last.test),
        **_measures("validation", last.validation),
        **{name: getattr(cost, name) for name in COUNTED},
        "temperature": last.temperature,
        "training_time": sum(record.training_time for record in history),
        "seconds": sum(sum(record.seconds.values()) for record in history),
        "rounds": len(history),
        "labels": last.labels,
        "t_star": switched_after(schedule_of(spec), history),
        "first_finetune": next((record.round for record in history if record.update == FINETUNE), None),
        "update_sequence": last.update_sequence,
    }


def round_row(record: Round) -> Run:
    """One round; signals as `change_NAME`."""
    return {
        "round": record.round,
        "update": record.update,
        "labels": record.labels,
        **_measures("validation", record.validation),
        **_measures("test", record.test),
        "temperature": record.temperature,
        "epochs": record.cost.epochs,
        "kept_epoch": record.kept_epoch,
        "steps": record.cost.steps,
        "tokens": record.cost.tokens,
        "training_time": record.training_time,
        **{f"change_{name}": value for name, value in record.changes.items()},
        "mean_score": sum(record.scores) / len(record.scores) if record.scores else None,
    }


def _measures(split: str, metrics: Metrics | None) -> Run:
    names = (*MEASURES, *(MULTI_LABEL_MEASURES if isinstance(metrics, MultiLabelMetrics) else ()))
    return {f"{split}_{name}": getattr(metrics, name) if metrics else None for name in names}


def rules(specs: Iterable[str]) -> dict[str, Rule]:
    """Return the rule of each schedule that switches by a signal."""
    found = {spec: schedule_of(spec).rule for spec in specs}
    return {spec: rule for spec, rule in found.items() if rule is not None}


def values(runs: pd.DataFrame, column: str) -> list[float]:
    """Return the numbers of a column without missing ones."""
    return [value for value in runs[column].astype(float).tolist() if value == value]


def paired(
    new: pd.DataFrame, reference: pd.DataFrame, column: str, on: Sequence[str] = CELL
) -> tuple[list[float], list[float]]:
    """Return a column of both, pair by pair, for the cells in which both have a number.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"seed": [1, 2, 3], "f1": [0.5, 0.6, None]})
    >>> paired(runs, runs.assign(f1=0.4), "f1", on=["seed"])
    ([0.5, 0.6], [0.4, 0.4])
    """
    mine, other = (_by_cell(runs, column, on) for runs in (new, reference))
    both = [cell for cell in mine if cell in other]
    return [mine[cell] for cell in both], [other[cell] for cell in both]


def _by_cell(runs: pd.DataFrame, column: str, on: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """Index the numbers of a column; ten times as fast as a merge, of which a report would need thousands."""
    cells = zip(*(runs[name] for name in on), strict=True)
    numbers = zip(cells, runs[column].astype(float), strict=True)
    return {cell: number for cell, number in numbers if number == number}
