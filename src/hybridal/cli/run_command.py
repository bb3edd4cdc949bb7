"""`hybridal run`: one run, from texts to an exported model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from hybridal.cli import options as o
from hybridal.cli.wording import resume_hint
from hybridal.runs.settings import DEMO, Settings, read_settings


@o.with_run_options()
def run(
    requested: o.RunOptions, out: o.Out = None, json: o.Json = False, quiet: o.Quiet = False, dry_run: o.DryRun = False
) -> None:
    """Run active learning on a task; with no options, the demo.

    If all texts of the file are labelled, labelling is simulated; with --labels FILE you enter the labels.
    """
    settings = resolve(requested)
    if dry_run:
        from hybridal.cli.plan import Notes, print_plan
        from hybridal.runs.checks import check_start

        inputs = check_start(settings, out or default_folder(settings), Notes(quiet), download=False)
        print_plan(settings, inputs.task, {"schedule": settings.schedule}, json, quiet)
        return
    from hybridal.cli.encoder_line import encoder_line
    from hybridal.cli.result import print_result
    from hybridal.cli.screen import observer_of
    from hybridal.runs.run import begin, resume_run

    with observer_of(settings, quiet or json) as screen:
        folder = begin(settings, out or default_folder(settings), screen)
        screen.message(f"Run folder: {folder.path}")
        screen.message(encoder_line(folder.settings().backbone))
        with resume_hint("hybridal resume", folder.path):
            resume_run(folder, screen)
    print_result(folder, json, quiet)


def resolve(requested: o.RunOptions) -> Settings:
    """Return the settings of the file, overridden by the command line; without a task, those of the demo."""
    from hybridal.schedules import make_schedule

    written = read_settings(requested.config) if requested.config else {}
    if "task" in requested.settings or "task" in written:
        base = Settings.from_json({"task": requested.settings.get("task"), **written})
    else:
        base = _demo(written, requested.settings)
    settings = base.with_changes(requested.settings)
    return settings.with_changes(
        {"schedule": make_schedule(settings.schedule, requested.epsilon, requested.patience).spec}
    )


def _demo(written: Mapping[str, Any], requested: Mapping[str, Any]) -> Settings:
    """Return the demo's settings, changed by the file; its overrides belong to its own protocol."""
    ours = {} if "protocol" in written or "protocol" in requested else DEMO.overrides
    return Settings.from_json({**asdict(DEMO), **written, "overrides": {**ours, **written.get("overrides", {})}})


def default_folder(settings: Settings) -> Path:
    """Return runs/TASK-SCHEDULE-TIME, with milliseconds because two runs may start in the same second."""
    now = datetime.now()
    stamp = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03d}"
    schedule = settings.schedule.replace(":", "-")
    return Path("runs") / f"{Path(settings.task).stem}-{schedule}-{stamp}"
