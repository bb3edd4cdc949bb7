"""All verbs under one name, and what a user sees when something is wrong."""

from __future__ import annotations

import sys

import typer

from hybridal import __version__
from hybridal.cli import compare, export, listing, predict, replay, report, resume, run
from hybridal.errors import UserError

EXIT_CODES = "Exit codes: 0 done · 1 a fault of ours · 2 bad input · 3 a run that could not go on · 130 stopped by you."

app = typer.Typer(
    name="hybridal",
    help="Active learning for text classification that decides, round by round, whether to retrain or to fine-tune.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(run.run)
app.command()(resume.resume)
app.command()(compare.compare)
app.command()(replay.replay)
app.command()(predict.predict)
app.command()(export.export)
app.command()(report.report)
app.command("list")(listing.listing)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"hybridal {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def main() -> None:
    """Runs a verb; a user's mistake is answered with one sentence."""
    try:
        app()
    except UserError as error:
        typer.secho(f"hybridal: {error}", fg="red", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.secho("hybridal: stopped; go on with `hybridal resume`.", err=True)
        sys.exit(130)
