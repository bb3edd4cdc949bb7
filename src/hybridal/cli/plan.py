"""`--dry-run`: make all checks and print the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from hybridal.core.observer import Observer
from hybridal.runs.settings import Settings
from hybridal.system.files import strict_json
from hybridal.tasks import Task


class Notes(Observer):
    """Prints messages to standard error, because standard output is the plan."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def message(self, text: str) -> None:
        if not self.quiet:
            typer.echo(text, err=True)


def print_plan(settings: Settings, task: Task, schedules: Mapping[str, Any], json: bool, quiet: bool) -> None:
    """Print the plan as JSON: indented for people, one line with `json`."""
    rules = settings.rules
    plan = {
        "task": task.name,
        "classes": list(task.classes),
        **({"multi_label": True} if task.multi_label else {}),
        "texts": {name: len(split) for name, split in task.splits()},
        **schedules,
        "backbone": settings.backbone,
        "rounds": rules.rounds,
        "labels": min(rules.initial + (rules.rounds - 1) * rules.batch, len(task.train)),
        "protocol": rules.to_json(),
    }
    if json or not quiet:
        typer.echo(strict_json(plan, indent=None if json else 2))
