"""A study small enough to run in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridal.lab.study.study import Study
from hybridal.testing.small import toy_file

RULES = {
    "rounds": 3,
    "initial": 12,
    "batch": 4,
    "candidates": 30,
    "max_epochs": 2,
    "learning_rate": 1e-3,
    "max_length": 16,
}


def small_study(folder: Path, **changes: Any) -> Study:
    """Two seeds of three schedules on the toy task; takes less than a second."""
    task = {"task": str(toy_file(folder)), "text": "body", "label": "kind", "validation_size": 20, "test_size": 12}
    study = Study(
        "small",
        (task,),
        ("retrain", "finetune", "fixed:3"),
        backbones=("tiny",),
        seeds=(1, 2),
        protocol="quick",
        overrides=RULES,
        device="cpu",
    )
    return study.shrunk(**changes)
