"""`hybridal run`: one run, from texts to an exported model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from hybridal.cli import options as o
from hybridal.runs.settings import DEMO, Settings, read_settings


def run(
    task: o.TaskName = None,
    config: o.Config = None,
    text: o.Text = None,
    label: o.Label = None,
    id: o.Id = None,
    validation: o.Validation = None,
    test: o.Test = None,
    validation_size: o.ValidationSize = None,
    test_size: o.TestSize = None,
    classes: o.Classes = None,
    max_words: o.MaxWords = None,
    labels: o.Labels = None,
    backbone: o.BackboneName = None,
    protocol: o.ProtocolName = None,
    rounds: o.Rounds = None,
    initial: o.Initial = None,
    batch: o.Batch = None,
    train_layers: o.TrainLayers = None,
    set: o.Set = None,
    schedule: o.ScheduleSpec = None,
    epsilon: o.Epsilon = None,
    patience: o.Patience = None,
    acquisition: o.AcquisitionSpec = None,
    signals: o.Signals = None,
    calibrate: o.Calibrate = False,
    seed: o.Seed = None,
    device: o.DeviceName = None,
    test_every_round: o.TestEveryRound = False,
    stop: o.Stop = None,
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    dry_run: o.DryRun = False,
) -> None:
    """Run active learning on a task; with no options, the demo.

    Labels are simulated from the file's own where it has them all; with --labels FILE they are yours.
    """
    asked = o.given(
        task=task,
        text=text,
        label=label,
        id=id,
        validation=validation,
        test=test,
        validation_size=validation_size,
        test_size=test_size,
        classes=o.names(classes),
        max_words=max_words,
        labels=labels,
        backbone=backbone,
        protocol=protocol,
        schedule=schedule,
        acquisition=acquisition,
        signals=o.names(signals),
        seed=seed,
        device=device,
        test_every_round=test_every_round,
        stop=stop,
    )
    asked["overrides"] = o.overrides(
        set, rounds=rounds, initial=initial, batch=batch, train_layers=train_layers, calibrate=calibrate
    )
    settings = resolve(config, asked, epsilon, patience)
    if dry_run:
        print_plan(settings, json, quiet)
        return
    from hybridal.cli.result import print_result
    from hybridal.cli.screen import follow
    from hybridal.runs.run import begin, carry_on

    with follow(settings, quiet or json) as screen:
        folder = begin(settings, out or default_folder(settings), screen)
        screen.message(f"Run folder: {folder.path}")
        carry_on(folder, screen)
    print_result(folder, json, quiet)


def resolve(config: Path | None, asked: dict[str, Any], epsilon: float | None, patience: int | None) -> Settings:
    """Settings from the file, with the command line's on top; without a task, the demo's."""
    from hybridal.schedules import make_schedule

    written = read_settings(config) if config else {}
    if "task" in asked or "task" in written:
        base = Settings.from_json({"task": asked.get("task"), **written})
    else:
        base = _demo(written, asked)
    settings = base.with_changes(asked)
    return settings.with_changes({"schedule": make_schedule(settings.schedule, epsilon, patience).spec})


def _demo(written: Mapping[str, Any], asked: Mapping[str, Any]) -> Settings:
    """The demo with what the file says; its numbers are those of its protocol, and go with it."""
    ours = {} if "protocol" in written or "protocol" in asked else DEMO.overrides
    return Settings.from_json({**DEMO.to_json(), **written, "overrides": {**ours, **written.get("overrides", {})}})


def default_folder(settings: Settings) -> Path:
    """A new folder under runs/, named after the task, the schedule and the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    schedule = settings.schedule.replace(":", "-")
    return Path("runs") / f"{Path(settings.task).stem}-{schedule}-{stamp}"


def print_plan(settings: Settings, json: bool, quiet: bool = False) -> None:
    """What a run would do, after all checks that need no training."""
    from hybridal.runs.assemble import find_task
    from hybridal.runs.run import check
    from hybridal.system.files import strict_json

    task = find_task(settings)
    check(settings, task)
    rules = settings.rules
    plan = {
        "task": task.name,
        "classes": list(task.classes),
        "texts": {name: len(split) for name, split in task.splits()},
        "schedule": settings.schedule,
        "rounds": rules.rounds,
        "labels": min(rules.initial + (rules.rounds - 1) * rules.batch, len(task.train)),
        "protocol": rules.to_json(),
    }
    if json or not quiet:
        typer.echo(strict_json(plan, indent=None if json else 2))
