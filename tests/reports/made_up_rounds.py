"""Made-up histories with the shape of real ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hybridal.core.rounds import Cost, Metrics, Round
from hybridal.schedules import Schedule, make_schedule

SPECS = ("retrain", "finetune", "fixed:4", "hybrid:accuracy:0.005:2", "hybrid:alpha:0.0001:3")

ABOUT: dict[str, Any] = {
    "settings": {
        "task": "newsgroups",
        "text": None,
        "backbone": "minilm",
        "schedule": "hybrid:accuracy",
        "seed": 42,
        "overrides": {"rounds": 10},
        "signals": ["loss"],
    },
    "protocol": {"name": "quick", "rounds": 10, "batch": 16, "calibrate": False},
    "task": {"name": "newsgroups", "classes": ["comp.graphics", "sci.space"], "fingerprint": "ab12"},
    "created": "2025-01-02T03:04:05+00:00",
    "versions": {"hybridal": "0.1.0", "python": "3.11.7", "torch": "2.9.0"},
    "hardware": {"machine": "x86_64", "cores": 2, "device": "CPU"},
}


def metrics(right: int, n: int, confidence: float) -> Metrics:
    accuracy = right / n
    nll = 0.18 + 1.5 * (1 - accuracy) + confidence
    return Metrics(n, right, accuracy, accuracy - 0.011, nll, 0.02 + confidence / 3, 1.4 * (1 - accuracy) + 0.05,
                   nll - 0.7 * confidence, 0.012 + confidence / 15, support=(n // 2, n - n // 2))  # fmt: skip


def round_after(history: tuple[Round, ...], schedule: Schedule, rounds: int = 10) -> Round:
    """The next round: a function of its update sequence, as invariant 1 requires."""
    t = len(history) + 1
    update = schedule.decide(history)
    sequence = (history[-1].update_sequence if history else "") + update.letter
    draw = random.Random(sequence)
    retrains = update.name == "retrain"
    # It grows and then stays: rounds 6 and 7 of the trunk are the first two that move by less than half a point.
    right = round(800 * (0.9 - 0.42 * 0.45**t)) + (draw.randint(-5, 5) if t < 5 or t > 8 else 0)
    worn = 0.0 if retrains else 0.035 * (t - sequence.count("R"))
    before = history[-1].validation if history else None
    labels = 48 + 16 * (t - 1)
    epochs = 5 if retrains else 2
    steps = epochs * -(-labels // 16)
    moved = None if before is None else abs(right - before.right) / 800
    validation = metrics(right, 800, 0.05 + worn)
    return Round(
        round=t,
        update=update.spec,
        update_sequence=sequence,
        labels=labels,
        cost=Cost(steps, epochs * labels, epochs * labels * 31, epochs),
        kept_epoch=epochs - 1,
        temperature=1.1 + 2 * worn,
        validation=validation,
        test=metrics(2 * right - 19, 1600, 0.06 + worn) if t == rounds else None,
        changes={
            "accuracy": moved,
            "alpha": None if before is None else 4e-3 * 0.42**t * draw.uniform(0.7, 1.4),
            "loss": None if before is None else abs(validation.nll - before.nll),
        },
        acquired=tuple(f"text-{t}-{i}" for i in range(4)),
        scores=(0.9, 0.8, 0.7, 0.6),
        seconds={"train": steps * 0.21, "validate": epochs * 0.3, "signal": 0.4, "test": 1.1 * (t == rounds),
                 "score": 1.9, "select": 0.01},
    )  # fmt: skip


def history_of(spec: str, rounds: int = 10) -> tuple[Round, ...]:
    schedule = make_schedule(spec)
    history: tuple[Round, ...] = ()
    while len(history) < rounds:
        history = (*history, round_after(history, schedule, rounds))
    return history


def histories_of(*specs: str, rounds: int = 10) -> dict[str, tuple[Round, ...]]:
    return {make_schedule(spec).spec: history_of(spec, rounds) for spec in specs}


def without_measures(history: tuple[Round, ...]) -> tuple[Round, ...]:
    """The same rounds without validation, test, signals or times."""
    none: Mapping[str, float | None] = {}
    return tuple(
        replace(record, temperature=None, validation=None, test=None, changes=none, seconds={}, acquired=(), scores=())
        for record in history
    )
