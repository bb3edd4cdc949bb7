"""`hybridal export`: copy the model and the labels of a run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from hybridal.errors import RunError, UserError


def export(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    target: Annotated[Path, typer.Argument(help="A new folder for the model.")],
    onnx: Annotated[bool, typer.Option("--onnx", help="Add model.onnx, for serving without torch.")] = False,
) -> None:
    """Copy the model and the labels of a run to a new folder."""
    from hybridal.runs.export import finished_model, finished_pool, labels_csv
    from hybridal.runs.record import RunFolder
    from hybridal.system.files import folder_made_whole

    folder = RunFolder.open(run)
    model, pool = finished_model(folder), finished_pool(folder)
    if target.exists():
        raise UserError(f"{target} exists already; name a new folder.")
    if onnx:
        from hybridal.models.export.onnx_export import check_onnx

        check_onnx()
    try:
        with folder_made_whole(target) as scratch:
            shutil.copytree(model, scratch, dirs_exist_ok=True)
            (scratch / "labels.csv").write_text(labels_csv(folder.task(), pool), encoding="utf-8")
            if onnx:
                from hybridal.learners.text_classifier import TextClassifier

                TextClassifier.load(model, "cpu").save_onnx(scratch)
    except OSError as error:
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        raise RunError(f"{target} could not be written ({why}); make room, or export to another folder.") from error
    typer.echo(f"Model and labels written to {target}")
