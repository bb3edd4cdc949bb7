"""`hybridal resume`: continue an interrupted run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o
from hybridal.cli.wording import resume_hint
from hybridal.errors import UserError


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the run or the comparison.")],
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute all rounds again and compare them with the records.")
    ] = False,
    device: o.DeviceName = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Continue a run or a comparison that was stopped or killed; results match an uninterrupted run."""
    from hybridal.cli.compare_command import resume_comparison
    from hybridal.cli.result import print_result
    from hybridal.cli.screen import observer_of
    from hybridal.lab.study.comparison import Comparison
    from hybridal.runs.record import RunFolder
    from hybridal.runs.run import resume_run

    if Comparison.is_one(folder):
        if recompute:
            raise UserError("--recompute is for runs: a comparison computes what is damaged again by itself.")
        resume_comparison(folder, device, json, quiet)
        return
    run = RunFolder.open(folder)
    with observer_of(run.settings(), quiet or json) as screen, resume_hint("hybridal resume", folder, device):
        resume_run(run, screen, recompute, device)
    print_result(run, json, quiet)
