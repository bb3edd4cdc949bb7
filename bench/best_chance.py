"""Every signal with its published ε and with its own best ε, from results/findings.parquet."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.claims import FINETUNE, RETRAIN, coin_toss, name, pairs, regret_of, spread
from bench.round_records import Cell, runs
from bench.settling import PAPER_FIRED, rule_of, rules_of, whose
from bench.tables import bounds, interval, ratio, table
from hybridal.lab.study.study_presets import preset
from hybridal.reports.display_names import schedule_of

RULES = tuple(rules_of(*PAPER_FIRED))


def title(spec: str) -> str:
    """
    >>> title("hybrid:cka:0.05862305:3"), title("finetune")
    ('`cka`, own', '`finetune`')
    """
    return f"`{rule_of(spec).signal.name}`, {whose(spec)}" if spec.startswith("hybrid:") else name(spec)


def switching(ends: pd.DataFrame) -> list[str]:
    """Fine-tuning and the rules that switched in at least one run; the others equal retraining."""
    made = ends.groupby("schedule")["t_star"].count()
    return [FINETUNE, *(spec for spec in RULES if made[spec])]


def f1_and_cost(ends: pd.DataFrame) -> str:
    """Macro-F1 against retraining and fine-tuning with lower bounds over tasks, and steps and regret."""
    regret, rows = regret_of(ends, (0.5,)), []
    for spec in switching(ends):
        own, retrain = pairs(ends, spec)
        cells = [title(spec), spread(interval(own["steps"] / retrain["steps"]), ".2f")]
        for reference in (RETRAIN, FINETUNE):
            gain = own["test_f1"] - pairs(ends, spec, reference)[1]["test_f1"]
            by_task = f"{bounds(gain.groupby('task').mean())[1]:+.3f}"
            cells += ["", ""] if spec == reference else [spread(bounds(gain), "+.3f"), by_task]
        rows.append([*cells, spread(interval(regret.loc[regret["schedule"] == spec, 0.5]), ".3f")])
    head = ["signal, ε", "steps, share of retraining's", "F1 against retraining", "not below, over tasks"]
    return table([*head, "against fine-tuning", "not below, over tasks", "regret, λ = 0.5"], rows)


def calibration(ends: pd.DataFrame) -> str:
    """NLL raw and scaled against both extremes, and against a random choice between them at equal steps."""
    rows = []
    for spec in switching(ends):
        own, retrain = pairs(ends, spec)
        finetune = pairs(ends, spec, FINETUNE)[1]
        raw = spread(ratio(own["test_nll"], retrain["test_nll"]), ".2f")
        scaled = [
            spread(ratio(own["test_nll_scaled"], other["test_nll_scaled"]), ".2f") for other in (retrain, finetune)
        ]
        tosses = [coin_toss(ends, spec, each_task).shown for each_task in (False, True)]
        rows.append([title(spec), raw, *([scaled[0], "", "", ""] if spec == FINETUNE else [*scaled, *tosses])])
    head = ["signal, ε", "NLL to retraining's", "scaled NLL to retraining's", "to fine-tuning's"]
    return table([*head, "NLL less a coin's", "less that of a coin for each task"], rows)


def grid(cells: Sequence[Cell], signal: str) -> str:
    """The range of F1 and steps over the (ε, k) of a signal, the paper's and ours, that were computed in all cells."""
    asked = [*rules_of(signal), *(spec for spec in preset("tuning").schedules if rule_of(spec).signal.name == signal)]
    specs = list(dict.fromkeys(schedule_of(spec).spec for spec in asked))
    found = runs(cells, [RETRAIN, *specs])
    ends = [both for spec in specs if len((both := pairs(found, spec))[0]) == len(cells)]
    f1 = [own["test_f1"].mean() for own, _ in ends]
    steps = [(own["steps"] / retrain["steps"]).mean() for own, retrain in ends]
    return f"{len(ends)} pairs, F1 {min(f1):.3f} to {max(f1):.3f}, steps {min(steps):.0%} to {max(steps):.0%}"
