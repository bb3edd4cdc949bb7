"""`hybridal push`: upload a model or labels to the Hugging Face hub."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer


def push(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    repo: Annotated[str, typer.Argument(help="Repository, as you/name; created if missing.")],
    labels: Annotated[
        bool, typer.Option("--labels", help="Push the labels as a dataset instead of the model.")
    ] = False,
    public: Annotated[bool, typer.Option("--public", help="Make a new repository public.")] = False,
) -> None:
    """Push a run's model, or its labels, to the Hugging Face hub, with a card that lists the metrics."""
    from hybridal.runs.export import finished_model, finished_pool
    from hybridal.runs.hub_push import push_labels, push_model
    from hybridal.runs.record import RunFolder

    folder = RunFolder.open(run)
    if labels:
        content = folder.task(), finished_pool(folder), folder.settings(), folder.history()
        address = push_labels(*content, repo, not public, None)
    else:
        model = finished_model(folder)
        address = push_model(lambda to: shutil.copytree(model, to), repo, not public, None)
    typer.echo(f"{'Labels' if labels else 'Model'} pushed to {address}")
