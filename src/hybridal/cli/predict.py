"""`hybridal predict`: classes and calibrated probabilities for new texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o
from hybridal.errors import UserError

WRITERS = (".csv", ".jsonl", ".parquet")


def predict(
    run: Annotated[Path, typer.Argument(help="A finished run folder, or an exported model folder.")],
    file: Annotated[Path, typer.Argument(help="CSV, TSV, JSONL or Parquet file with texts.")],
    text: Annotated[str, typer.Option(help="Column with the texts.")] = "text",
    id: Annotated[str | None, typer.Option(help="Column with the ids (default: row numbers).")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write: .csv, .jsonl or .parquet.")] = None,
    device: o.DeviceName = None,
) -> None:
    """Predict the class of each text of a file, with calibrated probabilities."""
    import pandas as pd
    from rich.progress import track

    from hybridal.files import write_whole
    from hybridal.saved import SavedModel
    from hybridal.task.read import read_rows

    target = out or file.with_name(f"{file.stem}-predictions.csv")
    if target.suffix not in WRITERS:
        raise UserError(f"--out {target} must end in {', '.join(WRITERS)}.")
    if not target.parent.is_dir():
        raise UserError(f"--out {target}: there is no folder {target.parent}.")
    if target.exists() and file.exists() and target.samefile(file):
        raise UserError(f"--out {target} would write over the texts; name another file.")
    rows = read_rows(file, text, None, id)
    model = SavedModel(run / "model" if (run / "run.json").exists() else run, device or "auto")
    chunks = [rows.texts[start : start + 512] for start in range(0, len(rows.texts), 512)]
    tables = []
    for chunk in track(chunks, description="predicting", transient=True):
        probabilities = model.predict_proba(chunk)
        table = pd.DataFrame(probabilities, columns=[f"p({name})" for name in model.classes])
        table.insert(0, "confidence", probabilities.max(axis=1))
        table.insert(0, "label", [model.classes[best] for best in probabilities.argmax(axis=1)])
        tables.append(table)
    found = pd.concat(tables, ignore_index=True)
    found.insert(0, "id", list(rows.ids))
    if target.suffix == ".csv":
        write_whole(target, found.to_csv(index=False))
    elif target.suffix == ".jsonl":
        write_whole(target, found.to_json(orient="records", lines=True, force_ascii=False))
    else:
        write_whole(target, found.to_parquet(index=False))
    typer.echo(f"{len(found)} predictions written to {target}")
