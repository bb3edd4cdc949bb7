"""`hybridal resume`: go on where a run was left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o
from hybridal.cli.wording import going_on_with
from hybridal.errors import UserError


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the run or the comparison.")],
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute the state again from the beginning, and check each round.")
    ] = False,
    device: o.DeviceName = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Go on with a run or a comparison that was stopped or killed; its facts come out as if it never had been."""
    from hybridal.cli.compare_command import go_on
    from hybridal.cli.result import print_result
    from hybridal.cli.screen import follow
    from hybridal.lab.study.comparison import Comparison
    from hybridal.runs.record import RunFolder
    from hybridal.runs.run import resume_run

    if Comparison.is_one(folder):
        if recompute:
            raise UserError("--recompute is for runs: a comparison computes what is damaged again by itself.")
        go_on(folder, device, json, quiet)
        return
    run = RunFolder.open(folder)
    with follow(run.settings(), quiet or json) as screen, going_on_with("hybridal resume", folder, device):
        resume_run(run, screen, recompute, device)
    print_result(run, json, quiet)
