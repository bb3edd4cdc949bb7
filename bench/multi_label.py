"""Several labels per text on three tasks, from results/multi-label.parquet: `python -m bench.multi_label`.

With study folders and `--out FILE.parquet` it collects their rounds instead: of the preset `multi-label` (with random
labels `auto` and `refit` only), and of `auto` and `refit` with other acquisitions or `--set thresholds=half`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.forecasts import Run, held, stopped
from bench.tables import bounds, interval, ratio, table
from hybridal.core.rounds import MultiLabelMetrics, Round
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.measures import certainty
from hybridal.measures.forecast import Observation

FILE = Path(__file__).resolve().parent.parent / "results" / "multi-label.parquet"
LEARNERS = FILE.with_name("learners.parquet")
ROUNDS = {1: 50, 2: 100, 4: 200, 10: 500, 20: 1000}  # labels by round, validation included
CELL = ["task", "seed"]
FACTORS = [*CELL, "schedule", "acquisition", "thresholds"]
RUN = [*FACTORS, "first_draw", "validation", "use_class_descriptions", "min_finetune_steps"]  # of any file of rounds
TESTED = ("f1", "micro_f1", "lrap", "accuracy", "nll_scaled")
CHOSEN_ON = 42  # the seed on which MULTI_LABEL_SHARE was chosen
NAMES = {"auto": "**auto**", "retrain": "retrain each round", "finetune": "finetune each round", "refit": "refit only"}


def rows(folder: StudyFolder) -> pd.DataFrame:
    """All rounds of the complete runs of a study."""
    found = []
    for cell in folder.cells:
        rules = cell.settings.rules
        for spec, history in folder.histories(cell).items():
            if len(history) == rules.rounds:
                run = (cell.settings.task, cell.settings.seed, spec, cell.settings.acquisition_spec, rules.thresholds)
                found += [{**dict(zip(FACTORS, run, strict=True)), **_row(record)} for record in history]
    return pd.DataFrame(found)


def _row(record: Round) -> dict[str, Any]:
    assert isinstance(record.test, MultiLabelMetrics)
    found: dict[str, Any] = {
        "round": record.round,
        "labels": record.labels,
        "steps": record.cost.steps,
        "update": record.update,
        "reason": record.reason,
        **{f"test_{name}": getattr(record.test, name) for name in TESTED},
        "disagreement": record.changes.get("agreement"),
        "classes": len(record.test.support),
        "validation_n": 0,
    }
    if (measured := record.validation) is not None:
        low, high = certainty.interval(measured, "micro_f1") or (None, None)
        found |= {"validation_n": measured.n, "validation_right": measured.right, "micro_f1_low": low}
        found |= {"validation_micro_f1": certainty.known(measured, "micro_f1"), "micro_f1_high": high}
    return found


def runs(round_records: pd.DataFrame, **factors: str) -> pd.DataFrame:
    """The rounds of the runs with these factors; margin and thresholds for macro-F1 if nothing else is given."""
    wanted = {"acquisition": "margin", "thresholds": "macro_f1", **factors}
    return round_records[np.logical_and.reduce([round_records[name] == value for name, value in wanted.items()])]


def curves(kinds: Mapping[str, pd.DataFrame], measure: str = "test_f1") -> str:
    """A measure by number of labels, mean over tasks and seeds, with the steps of a whole run."""
    found = []
    for name, some in kinds.items():
        means, steps = some.groupby("round")[measure].mean(), some.groupby(CELL)["steps"].sum().mean()
        found.append([name, *(f"{means[number]:.3f}" for number in ROUNDS), f"{steps:,.0f}"])
    return table([measure.removeprefix("test_").replace("_", "-"), *map(str, ROUNDS.values()), "steps"], found)


def by_task(round_records: pd.DataFrame) -> str:
    """Macro- and micro-F1 with all labels, by task."""
    found = []
    for task in sorted(round_records["task"].unique()):
        ends = [
            runs(round_records, schedule=name, task=task)[lambda all: all["round"] == max(ROUNDS)] for name in NAMES
        ]
        found.append([f"`{task}`", *(f"{end.test_f1.mean():.3f} / {end.test_micro_f1.mean():.3f}" for end in ends)])
    return table([f"{max(ROUNDS.values())} labels, macro-F1 / micro-F1", *NAMES.values()], found)


def against_retraining(round_records: pd.DataFrame) -> str:
    """Auto against retraining: difference in macro-F1, ratio of the scaled NLL, and steps up to there."""
    auto, retrain = (
        runs(round_records, schedule=name).set_index([*CELL, "round"]).sort_index() for name in ("auto", "retrain")
    )
    found = []
    for number, labels in ROUNDS.items():
        new, old = (some.xs(number, level="round") for some in (auto, retrain))
        mean, low, _ = bounds(new["test_f1"] - old["test_f1"])
        nll, _, worst = ratio(new["test_nll_scaled"], old["test_nll_scaled"])
        spent, all_steps = (
            some[some.index.get_level_values("round") <= number]["steps"].sum() for some in (auto, retrain)
        )
        figures = [f"{100 * mean:+.1f} (at least {100 * low:+.1f})", f"{nll:.2f} (at most {worst:.2f})"]
        found.append([str(labels), *figures, f"{spent / all_steps:.0%}"])
    return table(["labels", "macro-F1, points", "scaled NLL, ratio", "steps, share"], found)


def drifts(kinds: Mapping[str, pd.DataFrame]) -> str:
    """What the macro-F1 on test did in the rounds in which `auto` retrained because of drift."""
    found = []
    for name, rounds in kinds.items():
        auto = rounds[rounds["schedule"] == "auto"].sort_values("round")
        run = auto.groupby([factor for factor in RUN if factor in auto], dropna=False)
        auto = auto.assign(gain=100 * run["test_f1"].diff(), before=run["update"].shift())
        for task, some in auto[auto["reason"].fillna("").str.startswith("drifted")].groupby("task"):
            after = int(some["before"].str.startswith("finetune").sum())
            higher = int((some["gain"] > 0).sum())
            found.append([f"`{task}`, {name}", str(len(some)), str(after), f"{some['gain'].mean():+.1f}", str(higher)])
    head = ["", "retrainings by drift", "right after a fine-tuning", "change in macro-F1, points", "higher than before"]
    return table(head, found)


def thresholds(round_records: pd.DataFrame) -> str:
    """The gain of chosen thresholds over 0.5 in points of macro-F1, with its 95% interval over tasks and seeds."""
    found = []
    for name in ("auto", "refit"):
        pair = [
            runs(round_records, schedule=name, thresholds=spec).set_index([*CELL, "round"])
            for spec in ("macro_f1", "half")
        ]
        gain = 100 * (pair[0]["test_f1"] - pair[1]["test_f1"]).dropna()
        gains = [interval(gain.xs(number, level="round")) for number in ROUNDS]
        found.append([NAMES[name], *(f"{mean:+.1f} ({low:+.1f} to {high:+.1f})" for mean, low, high in gains)])
    return table(["labels", *map(str, ROUNDS.values())], found)


def recorded(round_records: pd.DataFrame) -> list[Run]:
    """The runs of `auto` and `retrain` as the forecast sees them; the truth is the exact match and micro-F1 on test."""
    learners = round_records[
        round_records["schedule"].isin(["auto", "retrain"]) & (round_records["thresholds"] == "macro_f1")
    ]
    return [
        Run(
            [_observation(round_record) for round_record in run.sort_values("round").to_dict("records")],
            run.sort_values("round")[["test_accuracy", "test_micro_f1"]].to_numpy(dtype=float),
            int(run["classes"].iloc[0]),
        )
        for _, run in learners.groupby(FACTORS)
    ]


def _observation(round_record: Mapping[Any, Any]) -> Observation:
    n, is_known = int(round_record["validation_n"]), not np.isnan(round_record["validation_micro_f1"])
    return Observation(
        int(round_record["labels"]),
        int(round_record["validation_right"]) if n else 0,
        n,
        float(round_record["validation_micro_f1"]) if is_known else None,
        None if np.isnan(round_record["disagreement"]) else float(round_record["disagreement"]),
        f1_interval=(float(round_record["micro_f1_low"]), float(round_record["micro_f1_high"])) if is_known else None,
        multi_label=True,
    )


def forecasts(round_records: pd.DataFrame) -> str:
    """How often 90% intervals contained the later score, and what stopping by them cost and saved."""
    found = []
    chosen = round_records["seed"] == CHOSEN_ON
    for name, some in {
        f"seed {CHOSEN_ON}, chosen on": round_records[chosen],
        "the other seeds": round_records[~chosen],
    }.items():
        all_runs = recorded(some)
        covered = pd.DataFrame([one for run in all_runs for one in held(run)]).mean()
        cost, saved = np.mean([stopped(run) for run in all_runs], axis=0)
        shares = [f"{share:.0%}" for share in covered]
        found.append([name, *shares, f"{100 * cost:.2f} points", f"{saved:.0%}"])
    head = ["", "exact match", "micro-F1", "gain in exact match", "gain in micro-F1", "micro-F1 lost", "labels saved"]
    return table(head, found)


def tables() -> dict[str, str]:
    """All tables of section 11 of docs/findings.md, by name."""
    round_records = pd.read_parquet(FILE)
    schedules = {name: runs(round_records, schedule=spec) for spec, name in NAMES.items()}
    random = {
        f"{NAMES[spec]}, random labels": runs(round_records, schedule=spec, acquisition="random")
        for spec in ("auto", "refit")
    }
    by = ("margin", "mmc", "cardinality", "random")
    return {
        "several labels, macro-F1": curves({**schedules, **random}),
        "several labels, micro-F1": curves(schedules, "test_micro_f1"),
        "several labels, by task": by_task(round_records),
        "several labels, auto against retraining": against_retraining(round_records),
        "several labels, acquisitions": curves(
            {name: runs(round_records, schedule="auto", acquisition=name) for name in by}
        ),
        "several labels, drift": drifts({"several labels": round_records, "one label": pd.read_parquet(LEARNERS)}),
        "several labels, thresholds": thresholds(round_records),
        "several labels, forecasts": forecasts(round_records),
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="STUDY_FOLDER")
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args(argv)
    if asked.folders:
        round_records = pd.concat([rows(StudyFolder.open(folder)) for folder in asked.folders], ignore_index=True)
        round_records = round_records.drop_duplicates([*FACTORS, "round"]).sort_values(
            [*FACTORS, "round"], ignore_index=True
        )
        round_records.to_parquet(asked.out, index=False, compression="zstd")
        print(f"{asked.out}: {len(round_records):,} rounds in {round_records.groupby(FACTORS).ngroups} runs.")
        return
    for name, text in tables().items():
        print(f"\n{name}\n\n{text}")


if __name__ == "__main__":
    main()
