"""`hybridal run`: one run, from texts to an exported model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from hybridal.cli import options as o
from hybridal.cli.wording import going_on_with
from hybridal.runs.settings import DEMO, Settings, read_settings


@o.asks()
def run(
    asked: o.Asked, out: o.Out = None, json: o.Json = False, quiet: o.Quiet = False, dry_run: o.DryRun = False
) -> None:
    """Run active learning on a task; with no options, the demo.

    Labels are simulated from the file's own where it has them all; with --labels FILE they are yours.
    """
    settings = resolve(asked)
    if dry_run:
        from hybridal.cli.plan import Notes, print_plan
        from hybridal.runs.checks import check_start

        inputs = check_start(settings, out or default_folder(settings), Notes(quiet), download=False)
        print_plan(settings, inputs.task, {"schedule": settings.schedule}, json, quiet)
        return
    from hybridal.cli.result import print_result
    from hybridal.cli.screen import follow
    from hybridal.runs.run import begin, resume_run

    with follow(settings, quiet or json) as screen:
        folder = begin(settings, out or default_folder(settings), screen)
        screen.message(f"Run folder: {folder.path}")
        with going_on_with("hybridal resume", folder.path):
            resume_run(folder, screen)
    print_result(folder, json, quiet)


def resolve(asked: o.Asked) -> Settings:
    """Settings from the file, with the command line's on top; without a task, the demo's."""
    from hybridal.schedules import make_schedule

    written = read_settings(asked.config) if asked.config else {}
    if "task" in asked.settings or "task" in written:
        base = Settings.from_json({"task": asked.settings.get("task"), **written})
    else:
        base = _demo(written, asked.settings)
    settings = base.with_changes(asked.settings)
    return settings.with_changes({"schedule": make_schedule(settings.schedule, asked.epsilon, asked.patience).spec})


def _demo(written: Mapping[str, Any], asked: Mapping[str, Any]) -> Settings:
    """The demo with what the file says; its numbers are those of its protocol, and go with it."""
    ours = {} if "protocol" in written or "protocol" in asked else DEMO.overrides
    return Settings.from_json({**asdict(DEMO), **written, "overrides": {**ours, **written.get("overrides", {})}})


def default_folder(settings: Settings) -> Path:
    """A new folder under runs/, named after the task, the schedule and the time: runs may begin in the same second."""
    now = datetime.now()
    stamp = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03d}"
    schedule = settings.schedule.replace(":", "-")
    return Path("runs") / f"{Path(settings.task).stem}-{schedule}-{stamp}"
