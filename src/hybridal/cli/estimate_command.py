"""`hybridal estimate`: shares of classes, their differences and trends, with intervals that may be published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybridal.cli import options as o
from hybridal.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybridal.learners.estimated_texts import EstimatedTexts
    from hybridal.learners.shares import Shares
    from hybridal.measures.shares.groups import By
    from hybridal.runs.record import RunFolder

CONFIDENCE = 0.95


def estimate(
    run: Annotated[Path, typer.Argument(help="A run folder, or one that `ActiveLearner.save` wrote.")],
    by: Annotated[
        str | None,
        typer.Option(
            help="Divide the texts by a COLUMN of their file, by month:COLUMN (year, quarter, week, day) of a date, or "
            "estimate the trend along number:COLUMN."
        ),
    ] = None,
    classes: Annotated[
        list[str] | None, typer.Option("--class", help="Estimate this class only; repeat it for several.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="File with the column of --by (default: the file of the run).")
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column with the ids in --data (default: that of the run).")] = None,
    within: Annotated[
        float | None,
        typer.Option(help="Say how many more random labels it takes until all intervals are at most this many points."),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Probability with which each interval contains the true value.")
    ] = CONFIDENCE,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables (CSV, Markdown, JSON) and figures (SVG, PNG, PDF).")
    ] = None,
    device: o.DeviceName = None,
    json: o.Json = False,
) -> None:
    """Estimate the share of each class among all texts of a run, with intervals that hold whatever the model does.

    Counting a model's answers is biased. The estimates combine the predictions of all texts with labels of texts that
    were drawn at random and that the model has not learnt. Next to each estimate stand the naive count and the estimate
    from random labels alone.

    With --by, also the shares of groups and their differences, or a trend over time or along a number. With --within 2,
    how many more random labels it takes for ±2 points.
    """
    from hybridal.measures.shares.groups import By
    from hybridal.runs.record import RunFolder
    from hybridal.system.files import strict_json

    if within is not None and not 0 < within < 100:
        raise UserError(f"--within must be a number of percentage points, such as 2, not {within:g}.")
    folder = RunFolder.open(run)
    column = None if by is None else By.of(by)
    values = None if column is None else _values(folder, column, data, id)
    found = _shares(folder, values, column, classes, confidence, device)
    files = [] if out is None else _written(found, out)
    if json:
        planned = {} if within is None else {"more_labels": found.table.more_labels(within / 100)}
        written = {"files": [str(path) for path in files]} if files else {}
        typer.echo(strict_json({**found.table.to_json(), "methods": found.methods, **planned, **written}))
    else:
        _print(found, within, files)


def _values(folder: RunFolder, column: By, data: Path | None, id: str | None) -> Mapping[str, Any]:
    from dataclasses import replace

    from hybridal.tasks.read_column import column_by_id

    source = folder.settings().source
    if data is not None:
        source = replace(source, task=str(data), validation=None, test=None)
    return column_by_id(source if id is None else replace(source, id=id), column.column)


def _shares(
    folder: RunFolder,
    values: Mapping[str, Any] | None,
    column: By | None,
    classes: list[str] | None,
    confidence: float,
    device: str | None,
) -> Shares:
    from hybridal.cli.progress_bars import text_progress
    from hybridal.learners.shares import Shares

    task = folder.task()
    with text_progress("predicting", len(task.train)) as advance:
        texts = _predicted(folder, device, _steps(advance))
    with text_progress("estimating", 0):
        return Shares(texts.shares(values, column, classes, confidence))


def _steps(advance: Callable[[int], None]) -> Callable[[int, int], None]:
    """Convert totals to steps."""
    before = 0

    def report(done: int, _of: int) -> None:
        nonlocal before
        advance(done - before)
        before = done

    return report


def _predicted(folder: RunFolder, device: str | None, progress: Callable[[int, int], None]) -> EstimatedTexts:
    from hybridal.learners.run_predictions import texts_of_run

    return texts_of_run(folder, device, progress)


def _written(found: Shares, out: Path) -> list[Path]:
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file; name a folder.")
    return found.write(out)


def _print(found: Shares, within: float | None, files: list[Path]) -> None:
    from hybridal.measures.shares.share_sentences import missing_sentences
    from hybridal.reports.share_tables import aligned, table_of_shares

    table = table_of_shares(found.table)
    assert table is not None  # there is a share of all texts
    planned = [] if within is None else [found.plan(within / 100)]
    written = [f"Written: {', '.join(map(str, files))}"] if files else []
    notes = [*missing_sentences(found.table), found.gain, *planned]
    for text in [aligned(table), "\n".join(filter(None, notes)), found.methods, *written]:
        if text:
            typer.echo(f"{text}\n")
