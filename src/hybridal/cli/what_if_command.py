"""`hybridal what-if`: what a hybrid schedule would have decided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def what_if(
    source: Annotated[Path, typer.Argument(help="A CSV or JSONL file with one value per round, or a run folder.")],
    column: Annotated[str | None, typer.Option(help="The column (or key) with the signal's value per round.")] = None,
    signal: Annotated[str, typer.Option(help="The signal that the values belong to.")] = "accuracy",
    epsilon: Annotated[float | None, typer.Option(help="ε (default: the signal's own).")] = None,
    patience: Annotated[int | None, typer.Option(help="k (default: the signal's own).")] = None,
    count: Annotated[
        int | None,
        typer.Option(
            help="Number of validation texts; rounded accuracies are then compared as counts of correct answers."
        ),
    ] = None,
) -> None:
    """Show when a hybrid schedule would have switched, as JSON with t_star and first_finetune_round."""
    from hybridal.lab.what_if import decisions
    from hybridal.system.files import strict_json

    typer.echo(strict_json(decisions(source, column, signal, epsilon, patience, count)))
