"""`hybridal predict`: classes and calibrated probabilities for new texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o
from hybridal.errors import UserError


def predict(
    run: Annotated[Path, typer.Argument(help="A finished run folder, or an exported model folder.")],
    file: Annotated[Path, typer.Argument(help="A file with texts (CSV, XLSX, JSON, …).")],
    text: Annotated[str, typer.Option(help="Column with the texts.")] = "text",
    id: Annotated[str | None, typer.Option(help="Column with the ids (default: row numbers).")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write: .csv, .jsonl or .parquet.")] = None,
    drop_empty: o.DropEmpty = False,
    device: o.DeviceName = None,
) -> None:
    """Predict the class of each text of a file, with calibrated probabilities."""
    from hybridal.cli.progress import text_progress
    from hybridal.learners.predictions import WRITERS, write_predictions
    from hybridal.learners.text_classifier import TextClassifier
    from hybridal.tasks.read import count_rows, stream_rows

    target = out or file.with_name(f"{file.stem}-predictions.csv")
    if target.suffix not in WRITERS:
        raise UserError(f"--out {target} must end in {', '.join(WRITERS)}.")
    if not target.parent.is_dir():
        raise UserError(f"--out {target}: there is no folder {target.parent}.")
    if target.exists() and file.exists() and target.samefile(file):
        raise UserError(f"--out {target} would write over the texts; name another file.")
    # All rows are looked at before any is predicted: what is wrong with the last one is said now, not in an hour.
    total = count_rows(file, text, id=id, drop_empty=drop_empty)
    model = TextClassifier.load(run / "model" if (run / "run.json").exists() else run, device or "auto")
    with text_progress("predicting", total) as progress:
        write_predictions(model, stream_rows(file, text, id=id, drop_empty=drop_empty), target, progress)
    typer.echo(f"{total} predictions written to {target}")
