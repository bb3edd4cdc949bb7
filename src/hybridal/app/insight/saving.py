"""What fine-tuning saved against retraining every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridal.evidence.formats import counted, duration
from hybridal.facts import Round


def saving(history: Sequence[Round]) -> dict[str, Any]:
    """Saved seconds, their `share` of what retraining always would have taken, counted in steps, and a sentence.

    A retrain of a round that was fine-tuned is taken to need as many passes over its labels as the retrains did on
    average, at their pace. Seconds depend on the machine and what else it did; steps do not, so they come first.
    """
    retrains = [fact for fact in history if fact.update == "retrain"]
    tuned = [fact for fact in history if fact.update == "finetune"]
    if not tuned:
        sentence = "Every update so far trained the model anew, so nothing is saved yet." if history else ""
        return {"seconds": 0.0, "share": 0.0, "sentence": sentence}
    if not sum(fact.cost.examples for fact in retrains):
        return {"seconds": 0.0, "share": 0.0, "sentence": "There was no retraining to compare the updates with."}
    passes = sum(fact.cost.examples / fact.labels for fact in retrains if fact.labels) / len(retrains)
    examples = sum(fact.cost.examples for fact in retrains)
    pace = sum(fact.training_time for fact in retrains) / examples
    steps = [round(passes * fact.labels * sum(f.cost.steps for f in retrains) / examples) for fact in tuned]
    spent = sum(fact.cost.steps for fact in tuned)
    seconds = sum(passes * fact.labels * pace - fact.training_time for fact in tuned)
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
