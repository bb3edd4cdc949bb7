"""All verbs under one name, and what a user sees when something is wrong."""

from __future__ import annotations

import errno
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from hybridal import __version__
from hybridal.cli import compare, export, listing, predict, replay, report, resume, run, study
from hybridal.errors import RunError, UserError

EXIT_CODES = "Exit codes: 0 done · 1 a fault of ours · 2 bad input · 3 a run that could not go on · 130 stopped by you."


class Verbs(TyperGroup):
    """Answers what a user can mend with one sentence and an exit code, in place of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            _end(str(error), error.exit_code)
        except KeyboardInterrupt:
            _end("stopped; go on with `hybridal resume`.", 130)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            _end(
                f"{error.filename or 'a file'}: {error.strerror or error}; what is recorded is safe.",
                RunError.exit_code,
            )


def _end(sentence: str, code: int) -> NoReturn:
    typer.secho(f"hybridal: {sentence}", fg="red", err=True)
    raise typer.Exit(code)


app = typer.Typer(
    name="hybridal",
    cls=Verbs,
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
app.add_typer(study.study, name="study")


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
    """The entry point of the command line."""
    app()
