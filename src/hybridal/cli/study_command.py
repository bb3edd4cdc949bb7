"""`hybridal study`: whole studies from one command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybridal.cli import options as o
from hybridal.cli.engine import choose_engine
from hybridal.cli.wording import Command, resume_hint
from hybridal.errors import RunError, UserError

if TYPE_CHECKING:
    from hybridal.lab.study.engines import Engine
    from hybridal.lab.study.study import CellPlan, Study
    from hybridal.lab.study.study_folder import StudyFolder

study = typer.Typer(
    help="Whole studies: plan, run, resume, status, tune, report. Every experiment of the paper is a preset.",
    no_args_is_help=True,
)

What = Annotated[str, typer.Argument(help="A preset (main, signals, tuning, ...) or a YAML file.")]
Where = Annotated[Path, typer.Argument(help="The study folder.")]
Workers = Annotated[
    int | None, typer.Option(help="Cells at the same time (default: one per core, or as many as a GPU gains from).")
]
PerGpu = Annotated[
    int | None,
    typer.Option(help="Processes per GPU, under NVIDIA's multi-process service (default: one with eight lanes)."),
]
Ray = Annotated[str | None, typer.Option(help="Address of a Ray cluster, or 'local'.")]
GpusPerCell = Annotated[
    float | None, typer.Option(help="With --ray: share of a GPU per cell, from 0 to 1 (default: a quarter).")
]
CatalogueName = Annotated[
    str | None,
    typer.Option(
        help="standard, or paper to add the paper's tables and figures (default: paper for the paper's presets)."
    ),
]
SHRUNK: Mapping[str, Any] = {
    "tasks": Annotated[str | None, typer.Option(help="These tasks instead: a,b,c.")],
    "backbones": Annotated[str | None, typer.Option(help="These backbones instead.")],
    "schedules": Annotated[str | None, typer.Option(help="These schedules instead.")],
    "acquisitions": Annotated[str | None, typer.Option(help="These acquisitions instead.")],
    "annotators": Annotated[str | None, typer.Option(help="These annotators instead.")],
    "seeds": Annotated[str | None, typer.Option(help="These seeds instead: 42,43.")],
    "rounds": Annotated[int | None, typer.Option(help="Number of rounds instead.")],
    "protocol": Annotated[str | None, typer.Option(help="best, paper, reference or quick, instead.")],
    "set": o.Set,
}


def shrinking(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Study.shrunk`."""
    lists = {name: o.names(values[name]) for name in ("tasks", "backbones", "schedules", "acquisitions", "annotators")}
    numbers = {"seeds": _numbers(values["seeds"]), "rounds": values["rounds"]}
    return {**lists, **numbers, "protocol": values["protocol"], "overrides": o.overrides(values["set"])}


@study.command(cls=Command)
@o.with_options(SHRUNK, shrinking)
def plan(shrunk: dict[str, Any], what: What, json: o.Json = False) -> None:
    """Show the size of a study: runs, cells, rounds with and without sharing."""
    from hybridal.lab.study.run_study_cells import checked_tasks
    from hybridal.lab.study.study_folder import StudyFolder

    chosen = find_study(what, **shrunk)
    checked_tasks(chosen, partial(typer.echo, err=True), fetch=False)
    print_plan(StudyFolder(Path("nowhere"), chosen), json)


@study.command(cls=Command)
@o.with_options(SHRUNK, shrinking)
def run(
    shrunk: dict[str, Any],
    what: What,
    device: o.DeviceName = None,
    workers: Workers = None,
    processes_per_gpu: PerGpu = None,
    ray: Ray = None,
    gpus_per_cell: GpusPerCell = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the study (default: studies/NAME).")] = None,
    catalogue: CatalogueName = None,
    quiet: o.Quiet = False,
) -> None:
    """Run a study: show the plan, compute the cells, write the report."""
    from hybridal.lab.study.run_study_cells import begin_study
    from hybridal.lab.write_study_report import check_catalogue

    check_catalogue(catalogue)
    chosen = find_study(what, device=device, **shrunk)
    engine = choose_engine(chosen.device, workers, processes_per_gpu, ray, gpus_per_cell)
    run_and_report(
        begin_study(chosen, out or Path("studies") / chosen.name, engine), engine, quiet, catalogue=catalogue
    )


@study.command(cls=Command)
def resume(
    folder: Where,
    device: o.DeviceName = None,
    workers: Workers = None,
    processes_per_gpu: PerGpu = None,
    ray: Ray = None,
    gpus_per_cell: GpusPerCell = None,
    catalogue: CatalogueName = None,
    quiet: o.Quiet = False,
) -> None:
    """Continue a study that was stopped, and try failed cells again."""
    from hybridal.lab.study.run_study_cells import reopen_study
    from hybridal.lab.study.study_folder import StudyFolder
    from hybridal.lab.write_study_report import check_catalogue
    from hybridal.runs.assemble import silent

    check_catalogue(catalogue)
    opened = StudyFolder.open(folder, device)
    engine = choose_engine(opened.device, workers, processes_per_gpu, ray, gpus_per_cell)
    reopen_study(opened, engine, silent if quiet else typer.echo)
    run_and_report(opened, engine, quiet, device, catalogue)


@study.command(cls=Command)
def status(folder: Where, json: o.Json = False) -> None:
    """Show the progress of a study, and which cells failed."""
    from hybridal.lab.study.study_folder import StudyFolder
    from hybridal.reports.number_formats import counted
    from hybridal.system.files import strict_json

    opened = StudyFolder.open(folder)
    cells = [_progress(opened, cell) for cell in opened.cells]
    if json:
        typer.echo(strict_json([{"cell": one.key, "rounds": one.rounds, "state": one.state} for one in cells]))
        return
    for one in cells:
        typer.echo(f"{one.state:<9} {one.rounds:>4} {'round' if one.rounds == 1 else 'rounds':<6}  {one.key}")
    finished, runs = sum(one.finished for one in cells), opened.study.runs
    all_of = "All" if finished == runs > 1 else f"{finished} of"
    typer.echo(f"{all_of} {counted(runs, 'run is', 'runs are')} complete.")
    for one in cells:
        if one.error:
            typer.echo(f"\n{one.key}:\n{one.error}")


@dataclass(frozen=True)
class CellProgress:
    """How far a cell is; `error` is the traceback of a failed one, or why its records cannot be read."""

    key: str
    rounds: int
    state: str
    finished: int = 0
    error: str | None = None


def _progress(folder: StudyFolder, cell: CellPlan) -> CellProgress:
    try:
        rounds, finished, error = len(folder.rounds_by_sequence(cell)), folder.finished(cell), folder.error(cell)
    except RunError as damage:
        return CellProgress(cell.key, 0, "damaged", error=str(damage))
    state = "complete" if finished == cell.runs else "failed" if error else "open"
    return CellProgress(cell.key, rounds, state, finished, error)


@study.command(cls=Command)
def tune(
    folder: Where,
    lam: Annotated[float, typer.Option("--lambda", help="Weight of NLL relative to cost.")] = 0.5,
    cost: Annotated[str, typer.Option(help="steps (counted) or seconds.")] = "steps",
    json: o.Json = False,
) -> None:
    """Choose ε and k by the paper's two-stage rule, and show for which λ the choice holds."""
    from dataclasses import asdict

    from hybridal.lab.statistics.tuning import tune as choose
    from hybridal.lab.study.study_folder import StudyFolder
    from hybridal.lab.study.study_results import results
    from hybridal.system.files import strict_json

    chosen = choose(results(StudyFolder.open(folder)), lam, cost)  # type: ignore[arg-type]
    if json:
        typer.echo(strict_json({signal: asdict(selection) for signal, selection in chosen.items()}))
        return
    for signal, found in chosen.items():
        epsilon, patience = found.chosen
        high = "any larger one" if found.lam_high is None else f"{found.lam_high:.2f}"
        typer.echo(
            f"{signal}: ε = {epsilon:g}, k = {patience} (score {found.score:.3f} among {len(found.candidates)} "
            f"candidates within 0.5% of the top F1); the choice holds for λ from {found.lam_low:.2f} to {high}."
        )


@study.command(cls=Command)
def report(
    folder: Where,
    catalogue: CatalogueName = None,
    against: Annotated[str | None, typer.Option(help="paper: compare with the published numbers.")] = None,
) -> None:
    """Write the page, the tables (Markdown, CSV, LaTeX) and the figures (SVG, PNG, PDF) of a study."""
    from hybridal.lab.study.study_folder import StudyFolder
    from hybridal.lab.write_study_report import write_study_report

    if against not in (None, "paper"):
        raise UserError(f"--against knows 'paper', not '{against}'.")
    typer.echo(write_study_report(StudyFolder.open(folder), catalogue, against == "paper"))


def find_study(what: str, rounds: int | None, **shrunk: Any) -> Study:
    """Return the study of a preset or file, reduced by the options."""
    from hybridal.lab.study.study import read_study
    from hybridal.lab.study.study_presets import PRESET_NAMES, preset

    chosen = preset(what, rounds) if what in PRESET_NAMES or not Path(what).suffix else read_study(Path(what))
    return chosen.shrunk(rounds=rounds, **shrunk)


def print_plan(folder: StudyFolder, json: bool) -> None:
    """Print runs, cells and rounds, then the progress."""
    from dataclasses import asdict

    from hybridal.lab.study.study_plan import plan
    from hybridal.reports.number_formats import counted
    from hybridal.system.files import strict_json

    found = plan(folder)
    if json:
        typer.echo(strict_json({**asdict(found), "saving": found.saving, "seconds_left": found.seconds_left}))
        return
    size = [counted(n, one) for n, one in ((found.runs, "run"), (found.cells, "cell"), (found.rounds, "round"))]
    typer.echo("Study '{}': {} in {}, {}.".format(folder.study.name, *size))
    if not found.left:
        shared = found.rounds > found.done
        saved = f"{found.rounds / found.done:.1f} times less work" if shared else "none was shared"
        typer.echo(f"All runs are complete: {counted(found.done, 'round was', 'rounds were')} distinct ({saved}).")
        return
    low, high = found.saving
    distinct = str(found.most) if found.least == found.most else f"{found.least} to {found.most}"
    factor = f"{low:.1f}" if found.least == found.most else f"{low:.1f} to {high:.1f}"
    work = f"Schedules share rounds: {distinct} are distinct ({factor} times less work)"
    if found.least == found.rounds:
        work = "Schedules share no rounds"
    typer.echo(f"{work}; {counted(found.done, 'is', 'are')} done.")
    if found.seconds_left is None:
        typer.echo("How long it takes will be known after the first rounds.")
    else:
        left, measured = counted(round(found.seconds_left / 60), "minute"), counted(found.done, "measured round")
        typer.echo(f"At most {left} left in one process, from {measured}.")


def run_and_report(
    folder: StudyFolder, engine: Engine, quiet: bool, device: str | None = None, catalogue: str | None = None
) -> None:
    """Show the plan, compute, write the report; exit with the code of a failed run if a cell failed."""
    from hybridal.cli.progress_bars import study_progress
    from hybridal.lab.study.run_study_cells import run_study
    from hybridal.lab.write_study_report import write_study_report

    if not quiet:
        print_plan(folder, False)
    with study_progress(folder, quiet) as done, resume_hint("hybridal study resume", folder.path, device):
        outcomes = run_study(folder, engine, done)
    target = write_study_report(folder, catalogue)
    if not quiet:
        typer.echo(f"Report: {target}")
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        typer.secho(f"{outcome.key} failed: {(outcome.error or '').strip().splitlines()[-1]}", fg="red", err=True)
    if failed:
        typer.echo(f"`hybridal study status {folder.path}` shows the tracebacks; `study resume` tries again.", err=True)
        raise typer.Exit(RunError.exit_code)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(part) for part in o.names(text) or ())
    except ValueError as error:
        raise UserError(f"--seeds takes whole numbers, as 42,43; not '{text}'.") from error
