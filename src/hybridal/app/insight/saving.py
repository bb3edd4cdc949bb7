"""What going on from the last weights saved against retraining every time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hybridal.core.facts import Round
from hybridal.core.rules import Rules
from hybridal.evidence.formats import counted, duration


def saving(history: Sequence[Round], rules: Rules) -> dict[str, Any]:
    """Saved seconds, their `share` of what retraining always would have taken, counted in steps, and a sentence.

    A retrain of a round that went on from the last weights would have taken the steps that the rules say; where they
    let validation stop it, as many passes over its labels as the retrains took on average. Its seconds go by their
    pace. Seconds depend on the machine and what else it did; steps do not, so they come first.
    """
    retrains = [fact for fact in history if fact.update == "retrain" and fact.cost.steps]
    tuned = [fact for fact in history if fact.update != "retrain" and fact.cost.steps]
    if not tuned:
        sentence = "Every update so far trained the model anew, so nothing is saved yet." if history else ""
        return {"seconds": 0.0, "share": 0.0, "sentence": sentence}
    if not sum(fact.cost.examples for fact in retrains):
        return {"seconds": 0.0, "share": 0.0, "sentence": "There was no retraining to compare the updates with."}
    examples, taken = (sum(getattr(fact.cost, name) for fact in retrains) for name in ("examples", "steps"))
    passes = sum(fact.cost.examples / fact.labels for fact in retrains if fact.labels) / len(retrains)
    if rules.stop_after is None:
        steps = [rules.epochs(fact.labels) * math.ceil(fact.labels / rules.train_batch) for fact in tuned]
    else:
        steps = [round(passes * fact.labels * taken / examples) for fact in tuned]
    spent = sum(fact.cost.steps for fact in tuned)
    pace = sum(fact.training_time for fact in retrains) / taken
    seconds = sum(step * pace - fact.training_time for step, fact in zip(steps, tuned, strict=True))
    whole = sum(steps) + sum(fact.cost.steps for fact in retrains)
    share = (sum(steps) - spent) / whole if whole else 0.0
    return {"seconds": seconds, "share": share, "sentence": _sentence(history, tuned, spent, sum(steps), seconds)}


def _sentence(history: Sequence[Round], tuned: Sequence[Round], spent: int, instead: int, seconds: float) -> str:
    first = (
        f"{len(tuned)} of {counted(len(history), 'update')} went on from the last weights: {counted(spent, 'step')} "
        f"where training anew would have taken about {counted(instead, 'step')}"
    )
    if spent >= instead:
        return f"{first}, so nothing was saved."
    return f"{first}, which saved about {duration(seconds)}." if seconds > 0 else f"{first}."
