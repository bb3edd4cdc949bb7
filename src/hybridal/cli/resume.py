"""`hybridal resume`: go on where a run was left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o


def resume(
    folder: Annotated[Path, typer.Argument(help="The run folder.")],
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute the state again from the beginning, and check each round.")
    ] = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Go on with a run that was stopped or killed; its facts come out as if it never had been."""
    from hybridal.cli.result import print_result
    from hybridal.cli.screen import follow
    from hybridal.record import RunFolder
    from hybridal.run import carry_on

    run = RunFolder.open(folder)
    with follow(run.settings(), quiet or json) as screen:
        carry_on(run, screen, recompute)
    print_result(run, json, quiet)
