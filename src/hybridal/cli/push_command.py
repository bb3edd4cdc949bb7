"""`hybridal push`: what a run has made, on the Hugging Face hub."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer


def push(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    repo: Annotated[str, typer.Argument(help="Where to: you/name; it is made if it is not there.")],
    labels: Annotated[bool, typer.Option("--labels", help="Push the labels, as a dataset, not the model.")] = False,
    public: Annotated[bool, typer.Option("--public", help="Everybody may see a repository that is made now.")] = False,
) -> None:
    """Push a run's model, or its labels, to the Hugging Face hub, with a card of what was measured."""
    from hybridal.runs.export import finished_model, finished_pool
    from hybridal.runs.hub_push import push_labels, push_model
    from hybridal.runs.record import RunFolder

    folder = RunFolder.open(run)
    if labels:
        asked = folder.task(), finished_pool(folder), folder.settings(), folder.history()
        address = push_labels(*asked, repo, not public, None)
    else:
        model = finished_model(folder)
        address = push_model(lambda to: shutil.copytree(model, to), repo, not public, None)
    typer.echo(f"{'Labels' if labels else 'Model'} pushed to {address}")
