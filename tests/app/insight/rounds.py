"""Made-up rounds."""

from __future__ import annotations

from typing import Any

from hybridal.core.rounds import Cost, Metrics, Round


def round_of(t: int, update: str = "retrain", **values: Any) -> Round:
    """The t-th round, on 10 t labels; ten seconds for each hundred examples."""
    labels = values.get("labels", 10 * t)
    epochs = values.pop("epochs", 5)
    right, n = values.pop("right", 15), values.pop("n", 20)
    examples = epochs * labels
    given = {
        "update_sequence": "R" * t,
        "labels": labels,
        "cost": Cost(steps=examples // 10, examples=examples, epochs=epochs),
        "kept_epoch": epochs,
        "temperature": 1.5,
        "validation": Metrics(n, right, right / n, 0.5, 0.9, 0.3, 0.4, 0.7, 0.2, support=(n - n // 2, n // 2)),
        "test": None,
        "changes": {},
        "acquired": (),
        "scores": (),
        "seconds": {"train": 0.08 * examples, "validate": 0.02 * examples, "score": 1.0},
    }
    return Round(round=t, update=update, **{**given, **values})
