"""Every signal gets its best chance, from results/findings.parquet: what came of its published ε, and of its own."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.claims import FINETUNE, RETRAIN, coin_toss, name, pairs, regret_of, spread
from bench.settling import PAPER_FIRED, rule_of, rules_of, whose
from bench.tables import bounds, interval, ratio, table

RULES = tuple(rules_of(*PAPER_FIRED))


def title(spec: str) -> str:
    """
    >>> title("hybrid:cka:0.05862305:3"), title("finetune")
    ('`cka`, own', '`finetune`')
    """
    return f"`{rule_of(spec).signal.name}`, {whose(spec)}" if spec.startswith("hybrid:") else name(spec)


def switching(runs: pd.DataFrame) -> list[str]:
    """The rules that switched in one run at least, after fine-tuning from the start; the others are retraining."""
    made = runs.groupby("schedule")["t_star"].count()
    return [FINETUNE, *(spec for spec in RULES if made[spec])]


def f1_and_cost(runs: pd.DataFrame) -> str:
    """Macro-F1 against retraining and fine-tuning, each with what it is not below over tasks, steps and regret."""
    regret, rows = regret_of(runs, (0.5,)), []
    for spec in switching(runs):
        own, retrain = pairs(runs, spec)
        cells = [title(spec), spread(interval(own["steps"] / retrain["steps"]), ".2f")]
        for reference in (RETRAIN, FINETUNE):
            gain = own["test_f1"] - pairs(runs, spec, reference)[1]["test_f1"]
            by_task = f"{bounds(gain.groupby('task').mean())[1]:+.3f}"
            cells += ["", ""] if spec == reference else [spread(bounds(gain), "+.3f"), by_task]
        rows.append([*cells, spread(interval(regret.loc[regret["schedule"] == spec, 0.5]), ".3f")])
    head = ["signal, ε", "steps, share of retraining's", "F1 against retraining", "not below, over tasks"]
    return table([*head, "against fine-tuning", "not below, over tasks", "regret, λ = 0.5"], rows)


def calibration(runs: pd.DataFrame) -> str:
    """NLL raw and scaled against both ends, and against a coin between them at equal steps."""
    rows = []
    for spec in switching(runs):
        own, retrain = pairs(runs, spec)
        finetune = pairs(runs, spec, FINETUNE)[1]
        raw = spread(ratio(own["test_nll"], retrain["test_nll"]), ".2f")
        scaled = [
            spread(ratio(own["test_nll_scaled"], other["test_nll_scaled"]), ".2f") for other in (retrain, finetune)
        ]
        tosses = [coin_toss(runs, spec, each_task).shown for each_task in (False, True)]
        rows.append([title(spec), raw, *([scaled[0], "", "", ""] if spec == FINETUNE else [*scaled, *tosses])])
    head = ["signal, ε", "NLL to retraining's", "scaled NLL to retraining's", "to fine-tuning's"]
    return table([*head, "NLL less a coin's", "less that of a coin for each task"], rows)


def ranges(runs: pd.DataFrame, specs: Sequence[str]) -> str:
    """From the least to the largest mean F1 and share of steps of some schedules."""
    ends = [pairs(runs, spec) for spec in specs]
    f1 = [own["test_f1"].mean() for own, _ in ends]
    steps = [(own["steps"] / retrain["steps"]).mean() for own, retrain in ends]
    return f"F1 {min(f1):.3f} to {max(f1):.3f}, steps {min(steps):.0%} to {max(steps):.0%} of retraining's"
