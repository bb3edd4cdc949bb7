"""`hybridal compare`: several schedules on the same task and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybridal.cli import options as o
from hybridal.cli.run_command import default_folder, resolve
from hybridal.cli.wording import resume_hint
from hybridal.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from hybridal.core.rounds import Round
    from hybridal.lab.study.comparison import Comparison

QUALITY = (
    *("accuracy", "accuracy_low", "accuracy_high", "f1", "f1_low", "f1_high"),
    *("nll", "nll_scaled", "ece", "ece_scaled"),
)
QUALITY_SEVERAL = (
    *("macro_f1", "macro_f1_low", "macro_f1_high", "micro_f1", "micro_f1_low", "micro_f1_high", "lrap"),
    *("exact_match", "exact_match_low", "exact_match_high", "hamming", "nll", "nll_scaled", "ece", "ece_scaled"),
)
SHOWN = ("schedule", "accuracy", "95%", "f1", "nll", "ece", "steps", "seconds", "update_sequence")
SHOWN_SEVERAL = (
    *("schedule", "macro_f1", "95%", "micro_f1", "lrap", "exact_match", "nll", "ece"),
    *("steps", "seconds", "update_sequence"),
)


@o.with_run_options(without=("labels", *o.OF_MODEL, "schedule", "epsilon", "patience", "stop", "tracker"))
def compare(
    requested: o.RunOptions,
    context: typer.Context,
    schedules: Annotated[
        str, typer.Option(help="Schedules to compare, separated by commas.")
    ] = "auto,retrain,finetune",
    resume: Annotated[Path | None, typer.Option(help="Continue a comparison that was stopped.")] = None,
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    dry_run: o.DryRun = False,
) -> None:
    """Run several schedules on the same texts, labels and seed; rounds that they share run once."""
    from hybridal.cli.encoder_line import encoder_line
    from hybridal.cli.screen import observer_of
    from hybridal.lab.study.comparison import Comparison

    if resume is not None:
        refuse_others(context)
        resume_comparison(resume, requested.settings.get("device"), json, quiet)
        return
    requested.settings["schedule"] = "retrain"
    settings = resolve(requested)
    target = out or default_folder(settings.with_changes({"schedule": "compare"}))
    specs = o.names(schedules) or ()
    if dry_run:
        from hybridal.cli.plan import Notes, print_plan

        planned, inputs = Comparison.check(settings, specs, target, Notes(quiet), download=False)
        print_plan(settings, inputs.task, {"schedules": planned}, json, quiet)
        return
    with observer_of(settings, quiet or json) as screen:
        compared = Comparison.begin(settings, specs, target, screen)
        screen.message(f"Comparison folder: {compared.folder.path}")
        screen.message(encoder_line(compared.folder.settings().backbone))
        with resume_hint("hybridal resume", compared.folder.path):
            compared.resume(screen)
    print_comparison(compared, json, quiet)


def refuse_others(context: typer.Context) -> None:
    """Refuse options that would change a comparison which exists already, instead of ignoring them."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    others = [name for name in given if name not in ("resume", "device", "json", "quiet")]
    if others:
        options = ", ".join("TASK" if name == "task" else f"--{name.replace('_', '-')}" for name in others)
        raise UserError(f"--resume uses the settings that the comparison was started with; leave {options} out.")


def resume_comparison(folder: Path, device: str | None, json: bool, quiet: bool) -> None:
    """Compute the missing rounds of a comparison and show the result."""
    from hybridal.cli.screen import observer_of
    from hybridal.lab.study.comparison import Comparison

    compared = Comparison.open(folder)
    with observer_of(compared.settings, quiet or json) as screen, resume_hint("hybridal resume", folder, device):
        screen.message(f"Comparison folder: {compared.folder.path}")
        compared.resume(screen, device)
    print_comparison(compared, json, quiet)


def print_comparison(compared: Comparison, json: bool, quiet: bool) -> None:
    """Write the report and print a table with one row per schedule."""
    from hybridal.cli.screen import wide_console
    from hybridal.reports.number_formats import counted
    from hybridal.reports.run_report import write_comparison
    from hybridal.reports.story import guessing
    from hybridal.system.files import strict_json

    found = compared.histories()
    report = write_comparison(found, compared.schedules, compared.folder.about(), compared.folder.report)
    rows = [summary(spec, history) for spec, history in found.items()]
    if json:
        typer.echo(strict_json({"folder": str(compared.folder.path), "schedules": rows}))
        return
    if quiet:
        return
    console = wide_console()
    console.print(result_table(rows, found))
    alone = sum(len(history) for history in found.values())
    distinct = len(compared.rounds_by_sequence())
    shared = f"{counted(alone, 'round')}, {distinct} computed"
    saved = f": {alone / distinct:.2f} times less work by sharing." if distinct < alone else "; none was shared."
    console.print(shared + saved, highlight=False, soft_wrap=True)
    for spec, history in found.items():
        if guess := guessing(history):
            console.print(f"{spec}: {guess}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Report: {report}", highlight=False, markup=False, soft_wrap=True)


def result_table(rows: Sequence[Mapping[str, Any]], histories: Mapping[str, Sequence[Round]]) -> Table:
    """Return a table of the summaries of these histories, with the measures of one label per text or of several."""
    from rich import table

    from hybridal.reports.history_summary import plain_sequence

    several = any("macro_f1" in row for row in rows)
    columns, score = (SHOWN_SEVERAL, "macro_f1") if several else (SHOWN, "accuracy")
    found = table.Table(*columns, box=None, pad_edge=False, header_style="bold")
    found.columns[0].overflow = "fold"
    for row, history in zip(rows, histories.values(), strict=True):
        words = {
            "95%": _interval(row.get(f"{score}_low"), row.get(f"{score}_high")),
            "update_sequence": plain_sequence(history),
        }
        found.add_row(*(_shown({**row, **words}.get(name)) for name in columns))
    return found


def summary(spec: str, history: Sequence[Round]) -> dict[str, Any]:
    """Return the final metrics of a schedule, on the test texts if there are any, and its cost."""
    from hybridal.lab.study.study_results import run_row
    from hybridal.measures.certainty import shown
    from hybridal.reports.history_summary import final

    row, measured = run_row(spec, history), final(history)
    figures = shown(measured[1]) if measured else {}
    return {
        "schedule": spec,
        **{name: figures.get(name) for name in (QUALITY_SEVERAL if "macro_f1" in figures else QUALITY)},
        "steps": row["steps"],
        "seconds": row["training_time"],
        "first_finetune": row["first_finetune"],
        "update_sequence": row["update_sequence"],
    }


def _interval(low: float | None, high: float | None) -> str | None:
    return None if low is None else f"{low:.2f}–{high:.2f}"


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
