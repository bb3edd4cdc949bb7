"""`hybridal predict`: classes and calibrated probabilities for new texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o
from hybridal.errors import RunError, UserError


def predict(
    run: Annotated[Path, typer.Argument(help="A finished run folder, or an exported model folder.")],
    file: Annotated[
        Path, typer.Argument(help="A file with texts (CSV, XLSX, JSON, …); with --ray, a folder of Parquet files.")
    ],
    text: Annotated[str, typer.Option(help="Column with the texts.")] = "text",
    id: Annotated[str | None, typer.Option(help="Column with the ids (default: row numbers).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output file: .csv, .jsonl or .parquet; with --ray, a folder.")
    ] = None,
    drop_empty: o.DropEmpty = False,
    device: o.DeviceName = None,
    ray: Annotated[
        str | None, typer.Option(help="A Ray cluster that predicts file after file: HOST:PORT, auto or local.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Predict the class of each text of a file, with calibrated probabilities.

    If a text may have several classes, the column `labels` holds those above their thresholds, as a JSON list.

    With --ray, predict all files of a folder on a cluster; run the same command again to predict the missing ones.
    """
    from hybridal.runs.export import model_folder
    from hybridal.system.files import strict_json
    from hybridal.tasks.table import NoColumnError

    model = model_folder(run)
    try:
        if ray is None:
            found = _predict_file(model, file, text, id, out, drop_empty, device or "auto")
        else:
            found = _predict_pool(model, file, text, id, out, drop_empty, device or "auto", ray)
    except NoColumnError as error:
        raise UserError(f"{error.found}: name yours with --text and --id.") from error
    if json:
        typer.echo(strict_json({name: value for name, value in asdict(found).items() if value is not None}))
    else:
        typer.echo(found.sentence)


@dataclass(frozen=True)
class Predicted:
    """What was written where; `files` counts the predicted files of a folder, `kept` those that existed already."""

    target: str
    predictions: int | None = None
    empty: int | None = None
    files: int | None = None
    kept: int | None = None

    @property
    def sentence(self) -> str:
        from hybridal.reports.number_formats import counted

        if self.predictions is not None:
            left_out = f"; {counted(self.empty, 'row')} without text skipped" if self.empty else ""
            return f"{counted(self.predictions, 'prediction')} written to {self.target}{left_out}"
        kept = f"; {self.kept} existed already" if self.kept else ""
        return f"Predictions of {counted(self.files or 0, 'file')} written to {self.target}{kept}"


def _predict_file(
    folder: Path, file: Path, text: str, id: str | None, out: Path | None, drop_empty: bool, device: str
) -> Predicted:
    from hybridal.cli.progress_bars import text_progress
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
    # Check all rows before the first prediction: an error in the last row should not appear after an hour.
    total, empty = count_rows(file, text, id=id, drop_empty=drop_empty)
    model = TextClassifier.load(folder, device)
    with text_progress("predicting", total) as progress:
        try:
            write_predictions(model, stream_rows(file, text, id=id, drop_empty=drop_empty), target, progress)
        except OSError as error:
            raise RunError(
                f"--out {target} could not be written ({error.strerror}); free some space, or choose another folder."
            ) from error
    return Predicted(str(target), predictions=total, empty=empty)


def _predict_pool(
    model: Path, pool: Path, text: str, id: str | None, out: Path | None, drop_empty: bool, device: str, address: str
) -> Predicted:
    from hybridal.cli.progress_bars import text_progress
    from hybridal.learners.shards import PoolPredictions, texts_in

    target = out or pool.with_name(f"{pool.name}-predictions")
    predictions = PoolPredictions(model, pool, target, text, id, drop_empty)
    missing, all_files = predictions.missing(), len(predictions.files())
    with text_progress("predicting", texts_in(missing)) as progress:
        predictions.make(address, device, progress=progress)
    return Predicted(str(target), files=len(missing), kept=all_files - len(missing))
