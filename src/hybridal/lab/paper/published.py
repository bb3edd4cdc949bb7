"""The final scores that the paper reports, under our names, and a table that compares a study with them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from hybridal.backbones.catalogue import CATALOGUE
from hybridal.lab.reports.method_grid import COST, SECONDS_NOTE, by_method, sectioned
from hybridal.lab.study.study_results import RETRAIN, Results, paired, rules, values
from hybridal.reports.display_names import schedule_name, task_names
from hybridal.reports.number_formats import Shown, fixed, percent, seconds, signed, with_spread
from hybridal.reports.report_table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one
from hybridal.tasks.mirror import same_name

if TYPE_CHECKING:
    import pandas as pd

_SPELT = {"yahoo_answers": "yahoo", "yahoo_answers_topics": "yahoo", "tweet_eval": "tweeteval"}
_SPELT |= {task: task for task in ("imdb", "jigsaw", "sst2", "tweeteval", "agnews", "yahoo")}
_TASKS = {same_name(label_text): task for label_text, task in _SPELT.items()}
_HYBRIDS = {"HybridAL Δα": "HybridAL_alpha", "HybridAL ΔAcc": "HybridAL_acc"}
DIFFERS, WITHIN, ONE_SEED = "differs by more than noise", "within noise", "one seed only"
CONFIDENCE = 0.95
ROUNDS, LABELS = 25, 968
TUNED = {"alpha": (1e-4, 3), "accuracy": (5e-3, 2)}


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over n seeds; the deviation is None if it is not reported."""

    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class Endpoint:
    """The paper's result of one method on one task; `time_class` is the kind of machine that was timed."""

    backbone: str
    method: str
    task: str
    f1: Spread
    nll: Spread
    seconds: Spread
    t_star: float | None
    time_class: str

    @property
    def time_is_comparable(self) -> bool:
        """Whether the seconds can be compared with other published seconds."""
        return self.time_class == "consistent"


@cache
def published() -> tuple[Endpoint, ...]:
    """Return all published results, with our names for tasks and backbones."""
    text = (files("hybridal.lab.paper") / "data" / "paper_endpoints.csv").read_text(encoding="utf-8")
    return tuple(_endpoint(row) for row in csv.DictReader(text.splitlines()))


def published_method(spec: str) -> str | None:
    """Return the paper's name of a schedule, for any ε and k; None if the paper has no such schedule."""
    name = schedule_name(spec)
    method = _HYBRIDS.get(name, name.replace("@", "_"))
    return method if any(one.method == method for one in published()) else None


def known_task(name: str) -> str:
    """Return the canonical name of a task: `ag_news` and `AG-News` are both `agnews`."""
    return _TASKS.get(same_name(name), name)


def known_backbone(name: str) -> str:
    """Return the short name of a backbone; hub ids such as `roberta-base` are resolved."""
    lower = name.lower()
    for short, entry in CATALOGUE.items():
        hub_id = (entry.hub_id or "").lower()
        if lower in (short, hub_id, hub_id.split("/")[-1]):
            return short
    return name


def _endpoint(row: Mapping[str, str]) -> Endpoint:
    n = int(row["n_seeds"])

    def spread(name: str) -> Spread:
        return Spread(float(row[f"{name}_mean"]), float(row[f"{name}_std"]), n)

    t_star = row["mean_switch_round_of_firing_seeds"]
    return Endpoint(
        backbone=known_backbone(row["backbone"]),
        method=row["method"],
        task=known_task(row["dataset"]),
        f1=spread("test_f1"),
        nll=spread("test_nll"),
        seconds=spread("train_time_s"),
        t_star=float(t_star) if t_star else None,
        time_class=row["time_class"],
    )


def against_paper(results: Results) -> Table | None:
    """Return the table of published and measured values for the cells that both have; None if there are none."""
    if results.runs.empty:
        return None
    runs = results.endpoints.dropna(subset="test_f1")
    runs = runs[runs["acquisition"] == "entropy"]
    known = {(one.backbone, one.method, one.task): one for one in published()}

    def lines(members: pd.DataFrame) -> Iterator[Row]:
        backbone, tasks = known_backbone(members["backbone"].iloc[0]), task_names(members["task"].unique())
        for spec, method, own in by_method(members):
            for task, title in tasks.items():
                mine = own[own["task"] == task]
                reported = known.get((backbone, published_method(spec) or "", known_task(task)))
                if len(mine) and reported:
                    retrain = known[backbone, "Retrain", known_task(task)]
                    yield (Entry(method), Entry(title), *_row(mine, members, reported, retrain))

    table = sectioned("against-paper", "", _columns(), runs, lines)
    if table is None:
        return None
    judged = sum(entry.text in (DIFFERS, WITHIN) for row in table.rows() for entry in row)
    caption = (
        "Published endpoints and measured ones: mean ± std over seeds; the difference in units of its standard error, "
        "which both sides' seeds give; and whether that is more than Welch's test allows at 95% (by chance alone, "
        f"about {judged / 20:.0f} of {judged} would be). Saved: of Retrain's cost in the same cell. The paper's time "
        f"table mixes machines; where it does, its seconds are marked ✗ and must not be compared. {SECONDS_NOTE}"
    )
    return replace(table, caption=caption)


def _columns() -> tuple[Column, ...]:
    columns = [Column("Method"), Column("Task")]
    for name in ("F1", "NLL"):
        columns += [Column("Published", MEAN, name), Column("Measured", MEAN, name)]
        columns += [Column("Difference", ("value", "units"), name), Column("Verdict", group=name)]
    columns += [Column("Published", ONE, "t*"), Column("Measured", MEAN, "t*")]
    columns += [Column("Published", MEAN, "Seconds"), Column("Measured", MEAN, "Seconds")]
    columns += [Column("Timed on", group="Seconds"), Column("Published s", ONE, "Saved")]
    columns += [Column("Measured s", ONE, "Saved"), Column("Measured steps", ONE, "Saved")]
    return (*columns, Column("Remarks"))


def _row(mine: pd.DataFrame, members: pd.DataFrame, cell: Endpoint, retrain: Endpoint) -> list[Entry]:
    entries = [
        *_compared(cell.f1, values(mine, "test_f1"), fixed(3)),
        *_compared(cell.nll, values(mine, "test_nll"), fixed(3)),
        one(cell.t_star, fixed(1)),
        mean_of(values(mine, "t_star"), fixed(1)),
        _reported(cell.seconds, seconds, "" if cell.time_is_comparable else "✗"),
        mean_of(values(mine, "training_time"), seconds),
        Entry("one machine" if cell.time_is_comparable else f"not comparable: {cell.time_class.replace('_', ' ')}"),
    ]
    both = cell.method != "Retrain" and cell.time_is_comparable and retrain.time_is_comparable
    entries.append(one(1 - cell.seconds.mean / retrain.seconds.mean, percent(1)) if both else MISSING)
    for column in (cost.column for cost in reversed(COST)):
        new, old = paired(mine, members[members["schedule"] == RETRAIN], column)
        saved = 1 - sum(new) / sum(old) if sum(old) and cell.method != "Retrain" else None
        entries.append(one(saved, percent(1)))
    return [*entries, Entry(_remarks(mine.iloc[0]))]


def _compared(reported: Spread, numbers: list[float], shown: Shown) -> list[Entry]:
    measured = Spread(fmean(numbers), stdev(numbers) if len(numbers) > 1 else None, len(numbers))
    units, verdict = units_of_noise(measured, reported)
    difference = measured.mean - reported.mean
    text = signed(3)(difference) + ("" if units is None else f" ({signed(1)(units)} units)")
    return [_reported(reported, shown), mean_of(numbers, shown), Entry(text, (difference, units)), Entry(verdict)]


def _reported(spread: Spread, shown: Shown, mark: str = "") -> Entry:
    assert spread.std is not None
    return Entry(with_spread(spread.mean, spread.std, shown), (spread.mean, spread.std, spread.n), mark)


def _remarks(row: pd.Series[Any]) -> str:
    """Return notes on runs whose settings differ from the paper's."""
    remarks = []
    if (row["rounds"], row["labels"]) != (ROUNDS, LABELS):
        remarks.append(f"{row['rounds']} rounds and {row['labels']} labels, published {ROUNDS} and {LABELS}")
    rule = rules([row["schedule"]]).get(row["schedule"])
    if rule and (rule.detector.epsilon, rule.detector.patience) != TUNED.get(rule.signal.name):
        remarks.append("other ε or k")
    return "; ".join(remarks) or "–"


def units_of_noise(measured: Spread, reported: Spread) -> tuple[float | None, str]:
    """Return the difference of two means in units of its standard error over seeds, and a verdict.

    Welch's test at 95%: the two sides may have different spreads. Without any spread there is no unit.
    """
    if measured.std is None or reported.std is None:
        return None, ONE_SEED
    if not measured.std and not reported.std:
        return None, WITHIN if measured.mean == reported.mean else DIFFERS
    from scipy import stats

    welch = stats.ttest_ind_from_stats(
        measured.mean, measured.std, measured.n, reported.mean, reported.std, reported.n, equal_var=False
    )
    return float(welch.statistic), DIFFERS if welch.pvalue < 1 - CONFIDENCE else WITHIN
