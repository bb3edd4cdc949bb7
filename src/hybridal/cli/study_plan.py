"""What a study takes, in words or as JSON."""

from __future__ import annotations

from dataclasses import asdict

import typer

from hybridal.study.folder import StudyFolder
from hybridal.study.plan import plan
from hybridal.system.files import strict_json


def print_plan(folder: StudyFolder, json: bool) -> None:
    """Runs, cells and rounds; then how far it is: not begun, on its way, complete."""
    found = plan(folder)
    if json:
        typer.echo(strict_json({**asdict(found), "saving": found.saving, "seconds_left": found.seconds_left}))
        return
    typer.echo(f"Study '{folder.study.name}': {found.runs} runs in {found.cells} cells, {found.rounds} rounds.")
    if not found.left:
        saved = found.rounds / found.done
        typer.echo(f"All runs are complete: {found.done} rounds were distinct ({saved:.1f} times less work).")
        return
    low, high = found.saving
    distinct = str(found.most) if found.least == found.most else f"{found.least} to {found.most}"
    factor = f"{low:.1f}" if found.least == found.most else f"{low:.1f} to {high:.1f}"
    typer.echo(f"Schedules share rounds: {distinct} are distinct ({factor} times less work); {found.done} are done.")
    if found.seconds_left is None:
        typer.echo("How long it takes will be known after the first rounds.")
    else:
        typer.echo(
            f"At most {found.seconds_left / 60:.0f} minutes left in one process, from {found.done} measured rounds."
        )
