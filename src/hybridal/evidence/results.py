"""A study as two tables: a row a run, and a row a round of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybridal.core.facts import Round
from hybridal.schedules import make_schedule
from hybridal.schedules.hybrid import HybridAL
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("accuracy", "f1", "nll", "ece", "brier", "nll_scaled", "ece_scaled")
FACTORS = ("task", "backbone", "acquisition", "variant", "seed", "schedule")


@dataclass(frozen=True)
class Results:
    """`runs` has a row a complete run, `rounds` a row a round of each of them; both name the run by its factors.

    `variant` spells the protocol fields in which cells differ ("" where none do). Costs are sums over a run's own
    rounds, shared or not. `t_star` and `first_finetune` are missing where a run never switched.
    """

    runs: pd.DataFrame
    rounds: pd.DataFrame


def results(folder: StudyFolder) -> Results:
    """Everything that is complete in a study."""
    import pandas as pd

    runs: list[dict[str, Any]] = []
    rounds: list[dict[str, Any]] = []
    for cell in folder.cells:
        for spec, history in folder.histories(cell).items():
            if len(history) == cell.settings.rules.rounds:
                run = factors(cell, spec)
                runs.append({**run, **run_row(spec, history)})
                rounds.extend({**run, **round_row(fact)} for fact in history)
    return Results(pd.DataFrame(runs), pd.DataFrame(rounds))


def factors(cell: CellPlan, spec: str) -> dict[str, Any]:
    """What tells a run from the others of its study."""
    settings = cell.settings
    return {
        "task": settings.task,
        "backbone": settings.backbone,
        "acquisition": settings.acquisition,
        "variant": variant_name(cell.variant),
        "seed": settings.seed,
        "schedule": spec,
    }


def variant_name(variant: Mapping[str, Any]) -> str:
    """How a variant is called.

    >>> variant_name({"initial": 50}), variant_name({"candidates": None}), variant_name({})
    ('initial=50', 'candidates=all', '')
    """
    return ", ".join(f"{name}={'all' if value is None else value}" for name, value in variant.items())


def run_row(spec: str, history: Sequence[Round]) -> dict[str, Any]:
    """The end of a run, what it cost and when it switched."""
    last, schedule = history[-1], make_schedule(spec)
    row: dict[str, Any] = {}
    for split, metrics in (("test", last.test), ("validation", last.validation)):
        row |= {f"{split}_{name}": getattr(metrics, name) if metrics else None for name in MEASURES}
    for name in ("steps", "examples", "tokens", "epochs"):
        row[name] = sum(getattr(fact.cost, name) for fact in history)
    return {
        **row,
        "temperature": last.temperature,
        "training_time": sum(fact.training_time for fact in history),
        "seconds": sum(sum(fact.seconds.values()) for fact in history),
        "rounds": len(history),
        "labels": last.labels,
        "t_star": schedule.t_star(history) if isinstance(schedule, HybridAL) else None,
        "first_finetune": next((fact.round for fact in history if fact.update == "finetune"), None),
        "word": last.word,
    }


def round_row(fact: Round) -> dict[str, Any]:
    """One round; signals as `change_NAME`."""
    row: dict[str, Any] = {"round": fact.round, "update": fact.update, "labels": fact.labels}
    for split, metrics in (("validation", fact.validation), ("test", fact.test)):
        row |= {f"{split}_{name}": getattr(metrics, name) if metrics else None for name in MEASURES}
    return {
        **row,
        "temperature": fact.temperature,
        "epochs": fact.cost.epochs,
        "kept_epoch": fact.kept_epoch,
        "steps": fact.cost.steps,
        "tokens": fact.cost.tokens,
        "training_time": fact.training_time,
        **{f"change_{name}": value for name, value in fact.changes.items()},
        "mean_score": sum(fact.scores) / len(fact.scores) if fact.scores else None,
    }
